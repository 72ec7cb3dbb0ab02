"""Touching files below a folder without ever following a link: every step is relative to an open folder.

Programs may run in the workspace at the same time, and one that swaps a folder for a link must not lead us out of it.
"""

import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
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


@contextmanager
def opened_folder(parent: int, path: bytes) -> Generator[int]:
    """`path` may have several parts; empty is the parent itself."""
    descriptor = os.dup(parent)
    try:
        for name in path.split(b"/") if path else ():
            below = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened_file(parent: int, name: bytes) -> Generator[int]:
    descriptor = os.open(name, _FILE, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def status_of(parent: int, name: bytes) -> os.stat_result | None:
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
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)


def _give(parent: int, name: bytes, owner: os.stat_result) -> None:
    """A daemon run by root gives what it makes to whom it belonged, or to whom the folder belongs."""
    if os.geteuid() == 0 and (owner.st_uid or owner.st_gid):
        with suppress(PermissionError):
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)
