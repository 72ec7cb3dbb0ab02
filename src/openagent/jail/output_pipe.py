"""The pipe one stream of a command comes through."""

import asyncio
import fcntl
import os
import struct
import termios
from pathlib import Path

from openagent.jail.capture import Capture

READ_SIZE = 64 * 1024
"""What a pipe holds. Larger buffers cost a mapping of memory each time, most of it for nothing."""


def waiting_bytes(fd: int) -> int:
    """Written to the pipe, and not read yet."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))[0]


class OutputPipe:
    """Carries one stream of one command, and is used again for the next when nothing else can write to it.

    It has a writer of its own, so that it does not seem at its end before a command has opened it.
    """

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._capture: Capture | None = None
        os.mkfifo(path, 0o600)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._guard: int | None = self._open_guard()
        loop.add_reader(self._fd, self._read)

    def _open_guard(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def carry(self, capture: Capture) -> None:
        self._capture = capture

    def _read(self) -> None:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return
        if self._capture is not None:
            self._capture.feed(data)

    def finish(self) -> bool:
        """Takes what the command had written when it ended; True when the pipe is free for another."""
        capture, self._capture = self._capture, None
        waiting = waiting_bytes(self._fd)
        while waiting > 0 and (data := os.read(self._fd, min(waiting, READ_SIZE))):
            waiting -= len(data)
            if capture is not None:
                capture.feed(data)
        self._close_guard()
        try:
            if os.read(self._fd, 1) != b"":
                return False
            self._guard = self._open_guard()
        except (BlockingIOError, FileNotFoundError):
            return False
        return True

    def _close_guard(self) -> None:
        if self._guard is not None:
            os.close(self._guard)
            self._guard = None

    def release(self) -> int:
        """The reading end, for reading on without this object; nobody new can open the pipe."""
        self._loop.remove_reader(self._fd)
        self._close_guard()
        self._path.unlink(missing_ok=True)
        return self._fd
