"""Resolving a path beneath a folder: links that stay inside are followed, and none leads out.

Linux resolves a path in one step (openat2). Elsewhere, and for everything that is written, the path is walked component
by component over descriptors, so that nothing swapped in on the way can lead out.
"""

import ctypes
import errno
import os
from contextlib import suppress
from typing import NamedTuple

from openagent.filesystem.handles import FOLDER_HANDLE, LINUX, names_fold, path_of

MAX_LINKS = 40
_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


class Place(NamedTuple):
    """Where a file is or will be. `directory` is an open descriptor that whoever asked for the place closes."""

    directory: int
    name: str
    real: str
    """Relative to the root, with no symbolic link in it."""
    made: tuple[str, ...] = ()
    """Directories that were made for it, outermost first."""


class EscapeError(OSError):
    """The path leads out."""


def open_beneath(root: int, relative: str, flags: int, *, kernel_resolves: bool = True) -> int:
    """A descriptor for something that exists. `kernel_resolves=False` does without openat2, as an older kernel does."""
    if kernel_resolves and LINUX and (fd := _openat2(root, relative, flags)) is not None:
        return fd
    place = place_beneath(root, relative)
    try:
        return os.open(place.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.directory)
    finally:
        os.close(place.directory)


def place_beneath(root: int, relative: str, *, make_parents: bool = False) -> Place:
    """Where to write. The last name in the place is no link at the time."""
    return _Walk(root, make_parents=make_parents).to(relative)


def path_below(path: str, root: str) -> str | None:
    """The path from the root, `.` for the root itself; None when it lies elsewhere. By the text alone."""
    if path == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _openat2(root: int, relative: str, flags: int) -> int | None:
    """None where the kernel cannot tell: it has no openat2, or a link is absolute."""
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    fd = _libc.syscall(_OPENAT2, root, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        return fd
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.EAGAIN):
        return None
    raise OSError(code, os.strerror(code), relative)


class _Walk:
    """One resolution: a stack of open directories from the root down, and the components still to come."""

    def __init__(self, root: int, *, make_parents: bool = False) -> None:
        self._root = root
        self._make_parents = make_parents
        self._open: list[tuple[int, str]] = []
        self._links = 0
        self._made: list[str] = []

    def to(self, relative: str) -> Place:
        ahead = relative.split("/")[::-1]
        try:
            while True:
                component = ahead.pop()
                if component == "..":
                    self._up()
                elif component not in ("", "."):
                    if target := self._link_target(component):
                        ahead.extend(target.split("/")[::-1])
                        continue
                    if not ahead:
                        return self._arrived(component)
                    self._down(component)
                if not ahead:
                    return self._arrived(".")
        finally:
            for fd, _ in self._open:
                os.close(fd)

    @property
    def _here(self) -> int:
        return self._open[-1][0] if self._open else self._root

    def _arrived(self, name: str) -> Place:
        directory = os.open(".", FOLDER_HANDLE, dir_fd=self._here)
        names = [opened for _, opened in self._open]
        try:
            if names_fold():
                above = path_below(path_of(directory), path_of(self._root)) or "."
                names = [] if above == "." else [above]
                name = _spelt_name(directory, name)
        except BaseException:
            os.close(directory)
            raise
        real = "/".join([*names, name] if name != "." else names) or "."
        return Place(directory, name, real, tuple(self._made))

    def _up(self) -> None:
        if not self._open:
            raise EscapeError(errno.EXDEV, os.strerror(errno.EXDEV))
        os.close(self._open.pop()[0])

    def _down(self, name: str) -> None:
        try:
            fd = os.open(name, FOLDER_HANDLE | os.O_NOFOLLOW, dir_fd=self._here)
        except FileNotFoundError:
            if not self._make_parents:
                raise
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._here)
                self._made.append("/".join([*(opened for _, opened in self._open), name]))
            fd = os.open(name, FOLDER_HANDLE | os.O_NOFOLLOW, dir_fd=self._here)
        self._open.append((fd, name))

    def _link_target(self, name: str) -> str | None:
        """Where a symbolic link leads, from here or (with the walk begun anew) from the root."""
        try:
            target = os.readlink(name, dir_fd=self._here)
        except OSError as problem:
            if problem.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        if not os.path.isabs(target):
            return target
        if (inside := path_below(target, path_of(self._root))) is None:
            raise EscapeError(errno.EXDEV, os.strerror(errno.EXDEV))
        while self._open:
            self._up()
        return inside


def _spelt_name(directory: int, name: str) -> str:
    """As its folder has it: `.ENV` may be `.env`, and rules go by names."""
    try:
        inode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return name
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.inode() == inode]
    return name if name == "." or name in names or not names else names[0]
