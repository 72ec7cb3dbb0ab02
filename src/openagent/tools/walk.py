"""The files below a directory that a model named. Left out: `.git`, and what .gitignore files say."""

import os
from collections.abc import Iterator
from contextlib import suppress

from openagent.filesystem import walking
from openagent.filesystem.walking import Found, Scope
from openagent.tools.beneath import Root


def walk(root: Root, fd: int) -> Iterator[Found]:
    """The files below an open directory, which is closed at the end; paths are as the root calls them, in order."""
    start = root.real(fd)
    prefix = "" if start == "." else start + "/"
    scopes = _scopes_above(root, prefix) if root.outside_of is None else []
    return walking.walk(fd, _is_git, prefix=prefix, scopes=scopes)


def _is_git(path: str, name: str, is_folder: bool) -> bool:
    return is_folder and name == ".git"


def _scopes_above(root: Root, prefix: str) -> list[Scope]:
    scopes: list[Scope] = []
    above = prefix.rstrip("/").split("/") if prefix else []
    for depth in range(len(above)):
        directory = "/".join(above[:depth])
        with suppress(OSError):
            fd = root.open(directory or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                scopes += Scope.of(fd, directory + "/" if directory else "")
            finally:
                os.close(fd)
    return scopes
