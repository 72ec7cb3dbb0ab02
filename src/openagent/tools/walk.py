"""Every file below a directory, over descriptors: symbolic links are not followed, and none can be swapped in.

Left out: `.git`, and what .gitignore files say.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from openagent.plugins.patterns import IgnoreFile
from openagent.tools.beneath import Root

MAX_DEPTH = 100
MAX_IGNORE_FILE = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Found(NamedTuple):
    """A regular file. `directory` stays open only until the next one is asked for."""

    path: str
    directory: int
    name: str

    def status(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)

    def open(self) -> int:
        """Raises OSError when it is a regular file no more."""
        fd = os.open(self.name, _FILE, dir_fd=self.directory)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise FileNotFoundError
        return fd


class _Scope(NamedTuple):
    """An ignore file and the directory it speaks for, `` or ending in a slash."""

    prefix: str
    rules: IgnoreFile


def walk(root: Root, fd: int) -> Iterator[Found]:
    """The files below an open directory, which is closed at the end; paths are relative to the root, in order."""
    start = root.real(fd)
    prefix = "" if start == "." else start + "/"
    return _below(fd, prefix, _scopes_above(root, prefix), 0)


def _below(fd: int, prefix: str, scopes: Sequence[_Scope], depth: int) -> Iterator[Found]:
    try:
        if (rules := _ignore_file(fd)) is not None:
            scopes = [*scopes, _Scope(prefix, rules)]
        with os.scandir(fd) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git" and depth < MAX_DEPTH and not _ignored(scopes, path, True):
                    with suppress(OSError):
                        child = os.open(entry.name, _DIRECTORY, dir_fd=fd)
                        yield from _below(child, path + "/", scopes, depth + 1)
            elif entry.is_file(follow_symlinks=False) and not _ignored(scopes, path, False):
                yield Found(path, fd, entry.name)
    finally:
        os.close(fd)


def _ignored(scopes: Sequence[_Scope], path: str, is_directory: bool) -> bool:
    for scope in reversed(scopes):
        verdict = scope.rules.verdict(path[len(scope.prefix) :], is_directory)
        if verdict is not None:
            return verdict
    return False


def _scopes_above(root: Root, prefix: str) -> list[_Scope]:
    scopes: list[_Scope] = []
    above = prefix.rstrip("/").split("/") if prefix else []
    for depth in range(len(above)):
        directory = "/".join(above[:depth])
        with suppress(OSError):
            fd = root.open(directory or ".", _DIRECTORY)
            try:
                if (rules := _ignore_file(fd)) is not None:
                    scopes.append(_Scope(directory + "/" if directory else "", rules))
            finally:
                os.close(fd)
    return scopes


def _ignore_file(directory: int) -> IgnoreFile | None:
    with suppress(OSError), os.fdopen(Found("", directory, ".gitignore").open(), "rb") as file:
        return IgnoreFile(file.read(MAX_IGNORE_FILE).decode(errors="replace"))
    return None
