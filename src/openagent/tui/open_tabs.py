"""The sessions that were open in a folder, so that the next start there can open them again."""

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.protocol import locations

FILE = "open-tabs.json"
FOLDERS = 200
"""That are remembered, the newest ones."""
MOST = 9
"""Tabs that are opened again: as many as have a key."""


class OpenTabs(Struct, frozen=True, omit_defaults=True):
    sessions: Sequence[str] = ()
    pid: int = 0
    """The program that has them open, or had."""
    at: float = 0.0


class TabKeeper:
    """Of one folder, here or on another machine."""

    def __init__(self, env: Mapping[str, str], folder: str, machine: str = "") -> None:
        self._file = Path(locations.data_home(env)) / FILE
        self._key = f"{machine}:{folder}"
        self._kept: OpenTabs | None = None

    def last(self) -> Sequence[str]:
        """What was open, unless a program that still runs has it open."""
        found = self._read().get(self._key, OpenTabs())
        return () if found.pid != os.getpid() and _runs(found.pid) else found.sessions

    def keep(self, sessions: Sequence[str]) -> None:
        """Nothing is forgotten until a session was open."""
        tabs = OpenTabs(tuple(sessions[:MOST]), os.getpid())
        if tabs == self._kept or (self._kept is None and not sessions):
            return
        self._kept = tabs
        found = self._read()
        found.pop(self._key, None)
        if sessions:
            found[self._key] = msgspec.structs.replace(tabs, at=time.time())
        newest = sorted(found.items(), key=lambda item: item[1].at)[-FOLDERS:]
        with contextlib.suppress(OSError):  # it is a convenience: what cannot be kept is not missed
            replace_file(self._file, msgspec.json.encode(dict(newest)), flush=False)

    def _read(self) -> dict[str, OpenTabs]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, OpenTabs])
        except (OSError, msgspec.MsgspecError):
            return {}


def _runs(pid: int) -> bool:
    """A program of ours: numbers are given anew, and one that ended may wait for somebody to notice."""
    if pid <= 0:
        return False
    if os.path.isdir("/proc/self"):
        try:
            return b"openagent" in Path(f"/proc/{pid}/cmdline").read_bytes()  # empty for one that has ended
        except OSError:
            return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
