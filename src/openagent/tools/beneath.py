"""Opening what a model names, beneath one directory and never outside it.

The kernel resolves a path in one step where it can (openat2). Otherwise, and for everything that is written, the path
is walked component by component over directory descriptors, so that nothing swapped in on the way can lead out.
"""

import ctypes
import errno
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from openagent.plugins.places import still_there
from openagent.protocol.errors import OpenAgentError

MAX_LINKS = 40
_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_AT_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_PACKAGE_STORES = frozenset((".pnpm", ".store", ".venv", ".yarn"))
"""Hidden, harmless, and full of links that lead into them."""
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


class Escape(OSError):
    """The path leads out."""


class Root:
    """A directory. `kernel_resolves=False` leaves out openat2, as a kernel without it does."""

    def __init__(self, directory: Path, *, kernel_resolves: bool = True) -> None:
        self.directory = directory
        self._kernel_resolves = kernel_resolves
        try:
            self.fd = os.open(directory, _AT_DIRECTORY)
        except OSError as problem:
            raise OpenAgentError(
                "tool_error", f"The workspace {directory} cannot be opened: {problem.strerror}."
            ) from None
        try:
            still_there(directory, os.readlink(f"/proc/self/fd/{self.fd}"))
        except BaseException:
            os.close(self.fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)

    def relative(self, path: str) -> str:
        """The path from the root, by its text alone, as policy reads it. Raises when it lies outside."""
        given = os.path.expanduser(path)
        if "\0" in given:
            raise OpenAgentError("tool_error", f"{path!r} contains a NUL character.")
        if not os.path.isabs(given):
            relative = os.path.normpath(given) if given else "."
        elif (inside := self._inside("/" + os.path.normpath(given).lstrip("/"))) is not None:
            relative = inside
        else:
            raise self._outside(path)
        if relative == ".." or relative.startswith("../"):
            raise self._outside(path)
        return relative

    def open(self, path: str, flags: int) -> int:
        """A descriptor for something that exists. Raises OpenAgentError when the path leads out, OSError otherwise."""
        relative = self.relative(path)
        try:
            fd = self._openat2(relative, flags) if self._kernel_resolves else None
            if fd is None:
                fd = self._open_by_walking(relative, flags)
        except Escape:
            raise self._outside(path) from None
        real = self.real(fd)
        if real != relative:
            try:
                _refuse_hidden_target(path, relative, real)
            except OpenAgentError:
                os.close(fd)
                raise
        return fd

    def stat(self, path: str) -> os.stat_result:
        """Raises OSError; FileNotFoundError when there is nothing of that name."""
        fd = self.open(path, os.O_PATH)
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def place(self, path: str, *, make_parents: bool = False) -> Place:
        """Where to write. Links that stay inside are followed: the name in the place is none at the time."""
        relative = self.relative(path)
        if relative == ".":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        walk = _Walk(self, make_parents=make_parents)
        try:
            place = walk.to(relative)
        except Escape:
            raise self._outside(path) from None
        if place.real != relative:
            try:
                _refuse_hidden_target(path, relative, place.real)
            except OpenAgentError:
                os.close(place.directory)
                raise
        return place

    def real(self, fd: int) -> str:
        """Where an open file is, relative to the root."""
        root, path = (os.readlink(f"/proc/self/fd/{which}") for which in (self.fd, fd))
        return _below(path, root) or path

    def _inside(self, absolute: str) -> str | None:
        found = _below(absolute, os.path.normpath(self.directory))
        return found if found is not None else _below(absolute, os.readlink(f"/proc/self/fd/{self.fd}"))

    def _openat2(self, relative: str, flags: int) -> int | None:
        """None where the kernel cannot tell: it has no openat2, or a link is absolute."""
        how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
        fd = _libc.syscall(_OPENAT2, self.fd, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code in (errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.EAGAIN):
            return None
        raise OSError(code, os.strerror(code), relative)

    def _open_by_walking(self, relative: str, flags: int) -> int:
        place = _Walk(self).to(relative)
        try:
            return os.open(place.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.directory)
        finally:
            os.close(place.directory)

    def _outside(self, path: str) -> OpenAgentError:
        return OpenAgentError(
            "tool_error",
            f"{path} is outside the workspace {self.directory}, or leads out of it. File tools work inside it only.",
        )


class _Walk:
    """One resolution: a stack of open directories from the root down, and the components still to come."""

    def __init__(self, root: Root, *, make_parents: bool = False) -> None:
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
        return self._open[-1][0] if self._open else self._root.fd

    def _arrived(self, name: str) -> Place:
        names = [opened for _, opened in self._open] + ([name] if name != "." else [])
        return Place(os.open(".", _AT_DIRECTORY, dir_fd=self._here), name, "/".join(names) or ".", tuple(self._made))

    def _up(self) -> None:
        if not self._open:
            raise Escape(errno.EXDEV, os.strerror(errno.EXDEV))
        os.close(self._open.pop()[0])

    def _down(self, name: str) -> None:
        try:
            fd = os.open(name, _AT_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._here)
        except FileNotFoundError:
            if not self._make_parents:
                raise
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._here)
                self._made.append("/".join([*(opened for _, opened in self._open), name]))
            fd = os.open(name, _AT_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._here)
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
        if (inside := _below(target, os.readlink(f"/proc/self/fd/{self._root.fd}"))) is None:
            raise Escape(errno.EXDEV, os.strerror(errno.EXDEV))
        while self._open:
            self._up()
        return inside


def _below(path: str, root: str) -> str | None:
    if path == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _refuse_hidden_target(path: str, relative: str, real: str) -> None:
    """Policy judged the path that was named: a link must not smuggle in .git, .env and their like."""
    unnamed = set(real.split("/")) - {".", *relative.split("/")} - _PACKAGE_STORES
    if any(part.startswith(".") for part in unnamed):
        raise OpenAgentError(
            "tool_error", f"{path} is a link that leads to {real}.", hint="Name that path itself if you mean it."
        )
