"""Touching files beneath a folder without ever following a link: every step is relative to an open folder.

Programs may run in a workspace at the same time, and one that swaps a folder for a link must not lead us out of it.
Where links that stay inside are to be followed, `resolving` does it.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from openagent.filesystem.handles import HANDLE, NEEDS_NO_RIGHTS

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITABLE = 0o300


def open_root(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextmanager
def opened_root(path: Path) -> Generator[int]:
    descriptor = open_root(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class NoRegularFileError(FileNotFoundError):
    """A folder, a pipe, a socket or a device has the name."""


def open_folder(parent: int, name: str | bytes) -> int:
    return os.open(_checked(name), _FOLDER, dir_fd=parent)


@contextmanager
def opened_folder(parent: int, path: str | bytes) -> Generator[int]:
    """`path` may have several parts; empty is the parent itself."""
    descriptor = os.dup(parent)
    try:
        for name in os.fsencode(path).split(b"/") if path else ():
            below = open_folder(descriptor, name)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(parent: int, name: str | bytes) -> int:
    """A regular file's descriptor. Never waits for a pipe."""
    descriptor = os.open(_checked(name), _FILE, dir_fd=parent)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NoRegularFileError(errno.ENOENT, "no regular file", name)


@contextmanager
def opened_file(parent: int, name: str | bytes) -> Generator[int]:
    descriptor = open_file(parent, name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _checked(name: str | bytes) -> str | bytes:
    """A single name: in a path, the kernel follows links on the way, and `..` leads out."""
    encoded = os.fsencode(name)
    if b"/" in encoded or encoded == b"..":
        raise OSError(errno.EXDEV, "no single name beneath the folder", name)
    return name


def status_of(parent: int, name: str | bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def make_writable(folder: int) -> None:
    """So that its owner may change what is in it; whoever calls this sets the mode again afterwards."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & _WRITABLE != _WRITABLE:
        os.fchmod(folder, mode | 0o700)


def put_file(parent: int, name: bytes, temporary: bytes, chunks: Iterable[bytes], mode: int) -> None:
    """Whole or not at all. A file of the same name, or a link, is replaced."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as out:
            for chunk in chunks:
                out.write(chunk)
            out.flush()
            _give(parent, temporary, status_of(parent, name) or os.fstat(parent))
            os.fchmod(descriptor, mode)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        raise


def put_link(parent: int, name: bytes, temporary: bytes, target: bytes) -> None:
    os.symlink(target, temporary, dir_fd=parent)
    try:
        _give(parent, temporary, status_of(parent, name) or os.fstat(parent))
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        raise


def make_folder(parent: int, name: bytes) -> None:
    os.mkdir(name, 0o700, dir_fd=parent)
    _give(parent, name, os.fstat(parent))


def set_mode(parent: int, name: bytes, mode: int) -> None:
    """Also of a file that may not be opened; never through a link."""
    if not NEEDS_NO_RIGHTS:
        _set_mode_without_handle(parent, name, mode)
        return
    descriptor = os.open(name, HANDLE | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)


def _set_mode_without_handle(parent: int, name: bytes, mode: int) -> None:
    """A link that is swapped in gets the mode itself, which means nothing, and never what it leads to."""
    if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return
    try:
        os.chmod(name, mode, dir_fd=parent, follow_symlinks=False)
    except NotImplementedError:
        descriptor = os.open(name, HANDLE | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)


def _give(parent: int, name: bytes, owner: os.stat_result) -> None:
    """A daemon run by root gives what it makes to whom it belonged, or to whom the folder belongs."""
    if os.geteuid() == 0 and (owner.st_uid or owner.st_gid):
        with suppress(PermissionError):
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)
