"""Every file beneath a folder, over descriptors: links are not followed, and none can be swapped in.

Left out: what .gitignore files say, and what whoever asks does not want.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from openagent.filesystem.beneath import open_file, open_folder
from openagent.filesystem.patterns import IgnoreFile

MAX_DEPTH = 100
_MAX_IGNORE_FILE = 1 << 20

Unwanted = Callable[[str, str, bool], bool]
"""From a path, its last name, and whether it is a folder, to whether it is passed over."""


class Found(NamedTuple):
    """A regular file. `directory` stays open only until the next one is asked for."""

    path: str
    directory: int
    name: str

    def status(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)

    def open(self) -> int:
        """Raises OSError when it is a regular file no more."""
        return open_file(self.directory, self.name)


class Scope(NamedTuple):
    """An ignore file and the directory it speaks for, `` or ending in a slash."""

    prefix: str
    rules: IgnoreFile

    @classmethod
    def of(cls, directory: int, prefix: str) -> "list[Scope]":
        """What the folder's own ignore file says; nothing when it has none."""
        with suppress(OSError), os.fdopen(open_file(directory, ".gitignore"), "rb") as file:
            return [cls(prefix, IgnoreFile(file.read(_MAX_IGNORE_FILE).decode(errors="replace")))]
        return []


def walk(
    directory: int, unwanted: Unwanted, *, prefix: str = "", scopes: Sequence[Scope] = (), depth: int = 0
) -> Iterator[Found]:
    """The files below an open directory, which is closed at the end: in order, their paths beginning with `prefix`.

    `scopes` are the ignore files of the folders above. A folder that cannot be opened is passed over."""
    try:
        scopes = [*scopes, *Scope.of(directory, prefix)]
        with os.scandir(directory) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        for entry in entries:
            path, is_folder = prefix + entry.name, entry.is_dir(follow_symlinks=False)
            if not (is_folder or entry.is_file(follow_symlinks=False)):
                continue
            if unwanted(path, entry.name, is_folder) or _ignored(scopes, path, is_folder):
                continue
            if not is_folder:
                yield Found(path, directory, entry.name)
            elif depth < MAX_DEPTH:
                with suppress(OSError):
                    below = open_folder(directory, entry.name)
                    yield from walk(below, unwanted, prefix=path + "/", scopes=scopes, depth=depth + 1)
    finally:
        os.close(directory)


def _ignored(scopes: Sequence[Scope], path: str, is_directory: bool) -> bool:
    for scope in reversed(scopes):
        verdict = scope.rules.verdict(path[len(scope.prefix) :], is_directory)
        if verdict is not None:
            return verdict
    return False
