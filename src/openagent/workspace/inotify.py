"""What the kernel says was touched in the folders it was asked to watch.

Events are queued by the very system call that changes a file, so whoever reads the queue after a program has ended has
everything that program did. Three calls of the C library are all it takes; there is no library to depend on.
"""

import ctypes
import errno
import os
import struct
import weakref
from typing import NamedTuple

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
UNMOUNT, OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
IS_FOLDER = 0x40000000
_ONLY_FOLDERS = 0x01000000
EVERYTHING = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE
"""Closing tells of what was written through a mapping, which nothing else does."""
_HEADER = struct.Struct("iIII")
_BUFFER = 16 << 10
_libc = ctypes.CDLL(None, use_errno=True)


class Unwatchable(Exception):
    """No more watches, or no inotify here."""


class RawEvent(NamedTuple):
    watch: int
    mask: int
    name: bytes
    """Empty for the watched folder itself."""


class Inotify:
    def __init__(self) -> None:
        try:
            self._descriptor: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except AttributeError:
            raise Unwatchable("this system has no inotify") from None
        if self._descriptor < 0:
            raise Unwatchable(os.strerror(ctypes.get_errno()))
        self.close = weakref.finalize(self, os.close, self._descriptor)
        """A user may have few of them: one that nobody uses any more is given back in any case."""

    def fileno(self) -> int:
        return self._descriptor

    def add(self, folder: int, mask: int = EVERYTHING) -> int:
        """Watches an open folder; the same folder always has the same watch."""
        watch: int = _libc.inotify_add_watch(self._descriptor, b"/proc/self/fd/%d" % folder, mask | _ONLY_FOLDERS)
        if watch < 0:
            raise Unwatchable(os.strerror(ctypes.get_errno()))
        return watch

    def remove(self, watch: int) -> None:
        _libc.inotify_rm_watch(self._descriptor, watch)

    def read(self) -> list[RawEvent]:
        events: list[RawEvent] = []
        while data := self._some():
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEADER.unpack_from(data, at)
                at += _HEADER.size
                events.append(RawEvent(watch, mask, data[at : at + length].rstrip(b"\0")))
                at += length
        return events

    def _some(self) -> bytes:
        try:
            return os.read(self._descriptor, _BUFFER)
        except OSError as problem:
            if problem.errno not in (errno.EAGAIN, errno.EINTR):
                raise
            return b""
