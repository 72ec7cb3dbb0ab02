"""What lies in a workspace that needs walls of its own: repositories, secrets, what the person's git is told to run.

Looking for it takes a walk through all folders, so it is done in a thread, and what was found holds for a while.
"""

import asyncio
import hashlib
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from openagent.jail.git_walls import git_settings, steered_by

HOLDS_FOR = 20.0
"""Seconds for which another jail of the same workspace need not look again."""
_MOST_FOLDERS = 30_000
_MOST_SECRETS = 200
_LARGEST_TRACKED = 1 << 20
_DEPENDENCIES = frozenset(
    ("node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache")
)
"""Folders of other people's packages: what is called a key there is an example, and they hold most of all files."""
_INDEX_HEADER = struct.Struct(">4sII")


class Ground(Struct, frozen=True):
    repositories: tuple[Path, ...] = ()
    """`.git` files and folders below the workspace's own."""
    secrets: tuple[Path, ...] = ()
    """Files that rules keep from being read unasked, by their names, and that no repository holds anyway."""
    steering: tuple[Path, ...] = ()
    """What the person's own git settings have their git read or run."""


class GroundSurvey:
    """Remembers what was found."""

    def __init__(self, is_secret: Callable[[str], bool] = lambda _path: False) -> None:
        """`is_secret` is told paths relative to the workspace."""
        self._is_secret = is_secret
        self._known: dict[Path, tuple[float, Ground]] = {}
        self._looking: dict[Path, asyncio.Task[Ground]] = {}

    async def of(self, workspace: Path) -> Ground:
        known = self._known.get(workspace)
        if known is not None and time.monotonic() - known[0] < HOLDS_FOR:
            return known[1]
        task = self._looking.get(workspace)
        if task is None:
            task = asyncio.create_task(self._look(workspace))
            self._looking[workspace] = task
            task.add_done_callback(lambda _: self._looking.pop(workspace, None))
        return await asyncio.shield(task)

    def last(self, workspace: Path) -> Ground:
        """What was found last, for a shell that has to be replaced at once."""
        return self._known.get(workspace, (0.0, Ground()))[1]

    def forget(self, workspace: Path) -> None:
        self._known.pop(workspace, None)

    async def _look(self, workspace: Path) -> Ground:
        ground = await asyncio.to_thread(look_around, workspace, self._is_secret)
        self._known[workspace] = time.monotonic(), ground
        return ground


def look_around(workspace: Path, is_secret: Callable[[str], bool]) -> Ground:
    repositories: list[Path] = []
    secrets: list[str] = []
    for path, name in _entries(workspace):
        if name == ".git":
            if path:
                repositories.append(workspace / path / name)
        else:
            relative = f"{path}/{name}" if path else name
            if len(secrets) < _MOST_SECRETS and is_secret(relative):
                secrets.append(relative)
    tracked = _tracked(workspace, secrets) if secrets else set[str]()
    return Ground(
        tuple(repositories),
        tuple(workspace / path for path in secrets if path not in tracked),
        tuple(steered_by(workspace, git_settings(workspace))),
    )


def _entries(workspace: Path) -> Iterator[tuple[str, str]]:
    """Files, and whatever is called `.git`, as folder and name. Breadth first: what is near is found in any case."""
    ahead, folders = [""], 0
    while ahead and folders < _MOST_FOLDERS:
        below: list[str] = []
        for here in ahead:
            folders += 1
            with suppress(OSError), os.scandir(workspace / here if here else workspace) as entries:
                for entry in entries:
                    name = entry.name
                    if name == ".git" or not entry.is_dir(follow_symlinks=False):
                        yield here, name
                    elif name not in _DEPENDENCIES:
                        below.append(f"{here}/{name}" if here else name)
        ahead = below


def _tracked(workspace: Path, paths: list[str]) -> set[str]:
    """Which of them the workspace's repository holds: those can be read from its objects, and unreadable in the work
    tree they would be committed as changed or stop every commit."""
    try:
        index = (workspace / ".git" / "index").read_bytes()
        signature, version, _ = _INDEX_HEADER.unpack_from(index)
    except (OSError, struct.error):
        return set()
    if signature != b"DIRC" or version not in (2, 3):
        return set()
    return {path for path in paths if _holds(index, workspace / path, os.fsencode(path))}


def _holds(index: bytes, file: Path, path: bytes) -> bool:
    """Whether the index has the file as it is. An entry's name ends with a zero byte; before it stand its length (and,
    in version 3, perhaps two bytes more) and the object's name. An index can be written in a jail, objects' names
    cannot be made up: what is changed against the index is no part of the repository."""
    at = index.find(path + b"\0")
    while at > 0:
        for back in (2, 4):
            (flags,) = struct.unpack_from(">H", index, at - back)
            if flags & 0xFFF == min(len(path), 0xFFF):
                return index[at - back - 20 : at - back] == _object_name(file)
        at = index.find(path + b"\0", at + 1)
    return False


def _object_name(file: Path) -> bytes:
    try:
        if file.is_symlink() or file.stat().st_size > _LARGEST_TRACKED:
            return b""
        content = file.read_bytes()
    except OSError:
        return b""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()
