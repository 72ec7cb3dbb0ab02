"""The files of a workspace worth finding again, as a stream.

Over descriptors: symbolic links are not followed, so none leads out or round in circles. Left out: what .gitignore
says, `.git`, what is usually produced by tools, and what usually holds secrets.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from openagent.plugins.patterns import IgnoreFile

MAX_DEPTH = 100
MAX_FILE = 1 << 20
"""A larger file is data or was generated."""
_TRIES = 3
"""For a file that is being written to. Should it change again, its next stamp tells."""
_MAX_IGNORE_FILE = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PRODUCED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"})
_PRIVATE = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config"})
_SECRET_NAMES = frozenset({".env", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "credentials"})
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".kdbx")


class Stamp(NamedTuple):
    """Equal stamps: the same content."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int


class Found(NamedTuple):
    path: str
    stamp: Stamp


class _Scope(NamedTuple):
    prefix: str
    rules: IgnoreFile


def walk(workspace: Path, hidden: Path, only: Sequence[str] = ()) -> Iterator[Found]:
    """Regular files, paths relative to the workspace, in order, without those below `hidden`.

    `only` names files: no other directory than theirs is looked into."""
    fd = os.open(workspace, _DIRECTORY & ~os.O_NOFOLLOW)
    here, there = workspace.resolve(), hidden.resolve()
    inside = re.sub(r"([*?\[\\])", r"\\\1", str(there.relative_to(here))) if here in there.parents else ""
    rules = IgnoreFile(f"/{inside}/" if inside else "")
    ways = (
        {path[: end + 1] for path in only for end, character in enumerate(path) if character == "/"} if only else None
    )
    return _below(fd, "", [_Scope("", rules)], ways)


def read(workspace: Path, path: str) -> tuple[bytes | None, Stamp] | None:
    """The bytes (None when there are too many or they are no text) and what they were read from; None when it is gone.

    Stamps differ before and after when it was written to meanwhile: then it is read once more."""
    fd = _open_beneath(workspace, path)
    if fd is None:
        return None
    try:
        before, data = _read_whole(fd)
        for _ in range(_TRIES):
            if data is None or _stamp(os.fstat(fd)) == before:
                break
            before, data = _read_whole(fd)
        return (None if data is None or b"\0" in data[:8192] else data), before
    except OSError:
        return None
    finally:
        os.close(fd)


def _read_whole(fd: int) -> tuple[Stamp, bytes | None]:
    stamp = _stamp(os.fstat(fd))
    data = os.pread(fd, MAX_FILE + 1, 0) if stamp.size <= MAX_FILE else None
    return stamp, data if data is None or len(data) <= MAX_FILE else None


def decoded(data: bytes) -> str:
    """Bytes that are no UTF-8 become the replacement character; a UTF-16 file has NULs, and is not read at all."""
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def _open_beneath(workspace: Path, path: str) -> int | None:
    """Component by component, through no symbolic link."""
    *directories, name = path.split("/")
    if ".." in directories or not name or path.startswith("/"):
        return None
    try:
        at = os.open(workspace, _DIRECTORY & ~os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        for directory in directories:
            below = os.open(directory, _DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        fd = os.open(name, _FILE, dir_fd=at)
    except OSError:
        return None
    finally:
        os.close(at)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def _below(fd: int, prefix: str, scopes: Sequence[_Scope], ways: Set[str] | None) -> Iterator[Found]:
    depth = prefix.count("/")
    try:
        if (rules := _ignore_file(fd)) is not None:
            scopes = [*scopes, _Scope(prefix, rules)]
        with os.scandir(fd) as listing:
            entries = sorted(filter(_nameable, listing), key=lambda entry: entry.name)
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name in _PRODUCED | _PRIVATE or depth >= MAX_DEPTH or _ignored(scopes, path, True):
                    continue
                if ways is None or f"{path}/" in ways:
                    with suppress(OSError):
                        child = os.open(entry.name, _DIRECTORY, dir_fd=fd)
                        yield from _below(child, path + "/", scopes, ways)
            elif entry.is_file(follow_symlinks=False) and not _secret(entry.name) and not _ignored(scopes, path, False):
                with suppress(OSError):
                    yield Found(path, _stamp(entry.stat(follow_symlinks=False)))
    finally:
        os.close(fd)


def _nameable(entry: "os.DirEntry[str]") -> bool:
    """A name that is no UTF-8 can be shown to nobody and asked for by nobody."""
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _secret(name: str) -> bool:
    return name in _SECRET_NAMES or name.startswith(".env.") or name.endswith(_SECRET_ENDINGS)


def _ignored(scopes: Sequence[_Scope], path: str, is_directory: bool) -> bool:
    for scope in reversed(scopes):
        verdict = scope.rules.verdict(path[len(scope.prefix) :], is_directory)
        if verdict is not None:
            return verdict
    return False


def _ignore_file(directory: int) -> IgnoreFile | None:
    with suppress(OSError), os.fdopen(os.open(".gitignore", _FILE, dir_fd=directory), "rb") as file:
        return IgnoreFile(file.read(_MAX_IGNORE_FILE).decode(errors="replace"))
    return None
