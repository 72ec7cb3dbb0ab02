"""Who wrote what: one file for each session and workspace, one line for each look that found something.

A line names objects of the private store; `keep` makes them part of a reference, so that they are no garbage.
"""

import errno
import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.workspace.objects import Objects
from openagent.workspace.states import Change

OTHERS = "_others"
"""Stands for whoever is no session: no session may be called that."""


class Entry(Struct, omit_defaults=True):
    number: int
    """Of its session's file."""
    at: int
    """Nanoseconds."""
    kind: Literal["write", "rewind", "revert", "return", "unsure"] = "write"
    turn: int = 0
    call: str = ""
    touched: list[Change] = []
    shared: str = ""
    """Why it may have been somebody else's; empty when it was surely this session's."""
    repository: bytes = b""
    """The repository's own state afterwards, when it changed."""
    undo: str = ""
    """Of a rewind or a revert: what takes it back. Of a return: which of them it took back."""
    taken: list[tuple[int, bytes]] = []
    """By number and path. Of a rewind: the writes it took back. Of a return: what it brought again. Of an `unsure`:
    the entries that are shared after all."""
    lost: list[tuple[bytes, str]] = []
    """What came or went and cannot be undone, with the reason."""
    before: str = ""
    """Of a rewind: the checkpoint of everything as it was before."""


class Journal:
    def __init__(self, store: Path) -> None:
        self._folder = store / "writes"
        self._numbers: dict[str, int] = {}

    def append(self, session: str, entry: Entry) -> Entry:
        number = self._numbers.get(session)
        if number is None:
            number = max((known.number for known in self.read(session)), default=0)
        self._numbers[session] = number + 1
        entry.number, entry.at = number + 1, time.time_ns()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._folder / session, flags, 0o600)
        try:
            line, before = msgspec.json.encode(entry) + b"\n", os.fstat(descriptor).st_size
            if os.write(descriptor, line) != len(line):
                os.ftruncate(descriptor, before)  # the next line must not be read as the end of this one
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._folder / session))
        finally:
            os.close(descriptor)
        return entry

    def read(self, session: str) -> list[Entry]:
        try:
            lines = (self._folder / session).read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        found: list[Entry] = []
        for line in lines:
            try:
                found.append(_decoder.decode(line))
            except msgspec.DecodeError:  # cut off by a crash, or the end
                continue
        return found

    def sessions(self) -> list[str]:
        names = os.listdir(self._folder) if self._folder.is_dir() else []
        return sorted(name for name in names if not name.endswith(".new"))

    def since(self, at: int) -> list[Entry]:
        """What anybody wrote after a moment, in order."""
        found = [entry for session in self.sessions() for entry in self.read(session) if entry.at > at]
        return sorted(found, key=lambda entry: entry.at)

    def forget(self, session: str) -> None:
        self._numbers.pop(session, None)
        (self._folder / session).unlink(missing_ok=True)

    def trim(self, session: str, turns: int) -> None:
        """Keeps what the newest turns wrote."""
        entries = self.read(session)
        known = sorted({entry.turn for entry in entries})
        if len(known) <= turns:
            return
        kept = [entry for entry in entries if entry.turn >= known[-turns]]
        replace_file(self._folder / session, b"".join(msgspec.json.encode(entry) + b"\n" for entry in kept))

    def keep(self, objects: Objects, sessions: Collection[str]) -> bytes:
        """One tree that holds everything the sessions' entries name."""
        names = {oid for session in sessions for entry in self.read(session) for oid in _named(entry)}
        return objects.tree((b"100644", oid.hex().encode(), oid) for oid in names)


def _named(entry: Entry) -> Iterator[bytes]:
    for change in entry.touched:
        for state in (change.before, change.after):
            if state is not None and state.oid:
                yield state.oid


_decoder = msgspec.json.Decoder(Entry)


class Write(Struct, frozen=True):
    """One path, written once."""

    number: int
    turn: int
    change: Change
    shared: str
    taken_by: str
    """The undo of the rewind that took it back; empty while it stands."""


def writes_of(entries: Collection[Entry]) -> list[Write]:
    """In order. What a rewind took back and a return brought again stands again. A revert is a write like another: what
    the session did to the file is what both of them made of it."""
    returned = {(entry.undo, path) for entry in entries if entry.kind == "return" for _, path in entry.taken}
    taken = {
        place: entry.undo
        for entry in entries
        if entry.kind == "rewind"
        for place in entry.taken
        if (entry.undo, place[1]) not in returned
    }
    unsure = {number: entry.shared for entry in entries if entry.kind == "unsure" for number, _ in entry.taken}
    return [
        Write(
            entry.number,
            entry.turn,
            change,
            entry.shared or unsure.get(entry.number, ""),
            taken.get((entry.number, change.path), "")
            or (entry.undo if (entry.undo, change.path) in returned else ""),  # a revert that was brought back
        )
        for entry in entries
        if entry.kind in ("write", "revert")
        for change in entry.touched
    ]
