"""What lies in a workspace that needs walls of its own: repositories, secrets, what the person's git is told to run.

Looking for it takes a walk through all folders, so it is done in a thread, and what was found holds for a while.
"""

import asyncio
import functools
import hashlib
import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from openagent.jail.git_walls import GitSetting, git_settings, steered_by
from openagent.jail.hook_files import run_by_hooks

HOLDS_FOR = 20.0
"""Seconds for which another jail of the same workspace need not look again."""
_BEFORE_LOOKING_S = 0.15
_SETTLED_NS = 2_000_000_000
"""A folder changed more recently than this may change again without its time being another."""
_MOST_WORKSPACES = 16
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
    """What the person's own git settings and hooks have their git read or run."""


class _Folder(NamedTuple):
    """What one folder holds, as long as it was not changed."""

    changed_at: int
    below: tuple[str, ...]
    secrets: tuple[str, ...]
    repository: bool


class GroundSurvey:
    """Remembers what was found."""

    def __init__(self, is_secret: Callable[[str], bool] = lambda _path: False) -> None:
        """`is_secret` is told paths relative to the workspace."""
        self._is_secret = is_secret
        self._known: dict[Path, tuple[float, Ground]] = {}
        self._folders: dict[Path, dict[str, _Folder]] = {}
        self._looking: dict[Path, asyncio.Future[Ground]] = {}

    def prepare(self, workspace: Path) -> None:
        """Somebody may soon work there: while a model thinks about its first answer there is time to look."""
        asyncio.get_running_loop().call_later(_BEFORE_LOOKING_S, self._begin, workspace)

    async def of(self, workspace: Path) -> Ground:
        known = self._known.get(workspace)
        if known is not None and time.monotonic() - known[0] < HOLDS_FOR:
            return known[1]
        return await asyncio.shield(self._begin(workspace))

    def last(self, workspace: Path) -> Ground:
        """What was found last, for a shell that has to be replaced at once."""
        return self._known.get(workspace, (0.0, Ground()))[1]

    def _begin(self, workspace: Path) -> "asyncio.Future[Ground]":
        looking = self._looking.get(workspace)
        if looking is None:
            folders = self._folders.setdefault(workspace, {})
            look = functools.partial(look_around, workspace, self._is_secret, folders)
            # No task: nobody waits for a look that was begun ahead, and the daemon may end in this very moment.
            looking = self._looking[workspace] = asyncio.get_running_loop().run_in_executor(
                None, copy_context().run, look
            )
            looking.add_done_callback(functools.partial(self._found, workspace))
        return looking

    def _found(self, workspace: Path, looking: "asyncio.Future[Ground]") -> None:
        self._looking.pop(workspace, None)
        if looking.cancelled() or looking.exception() is not None:
            return
        self._known[workspace] = time.monotonic(), looking.result()
        while len(self._folders) > _MOST_WORKSPACES:
            del self._folders[next(iter(self._folders))]


def look_around(workspace: Path, is_secret: Callable[[str], bool], known: dict[str, _Folder] | None = None) -> Ground:
    """`known` is what an earlier look left: a folder that was not changed since is not listed again."""
    repositories: list[Path] = []
    secrets: list[str] = []
    for path, folder in _walked(workspace, is_secret, {} if known is None else known):
        secrets += [f"{path}/{name}" if path else name for name in folder.secrets]
        if path and folder.repository:
            repositories.append(workspace / path / ".git")
    secrets = secrets[:_MOST_SECRETS]
    tracked = _tracked(workspace, secrets) if secrets else set[str]()
    is_repository = bool(repositories) or os.path.lexists(workspace / ".git")
    settings = git_settings(workspace) if is_repository else _settings_everywhere()
    return Ground(
        tuple(repositories),
        tuple(workspace / path for path in secrets if path not in tracked),
        tuple(dict.fromkeys([*steered_by(workspace, settings), *run_by_hooks(workspace, _hooks_paths(settings))])),
    )


def _hooks_paths(settings: Sequence[GitSetting]) -> list[str]:
    return [setting.value for setting in settings if setting.key == "core.hookspath"]


@functools.cache
def _settings_everywhere() -> list[GitSetting]:
    return git_settings(Path("/"))


def _walked(
    workspace: Path, is_secret: Callable[[str], bool], known: dict[str, _Folder]
) -> Iterator[tuple[str, _Folder]]:
    """Breadth first: what is near is found in any case."""
    root = str(workspace)
    ahead, seen = [""], 0
    while ahead and seen < _MOST_FOLDERS:
        below: list[str] = []
        for here in ahead:
            seen += 1
            with suppress(OSError):
                folder = known[here] = _listed(f"{root}/{here}" if here else root, here, is_secret, known.get(here))
                yield here, folder
                below += [f"{here}/{name}" if here else name for name in folder.below]
        ahead = below


def _listed(path: str, here: str, is_secret: Callable[[str], bool], known: _Folder | None) -> _Folder:
    changed_at = os.stat(path).st_mtime_ns
    if known is not None and known.changed_at == changed_at and time.time_ns() - changed_at > _SETTLED_NS:
        return known
    below: list[str] = []
    secrets: list[str] = []
    repository = False
    prefix = f"{here}/" if here else ""
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if name == ".git":
                repository = True
            elif entry.is_dir(follow_symlinks=False):
                if name not in _DEPENDENCIES:
                    below.append(name)
            elif is_secret(prefix + name):
                secrets.append(name)
    return _Folder(changed_at, tuple(below), tuple(secrets), repository)


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
