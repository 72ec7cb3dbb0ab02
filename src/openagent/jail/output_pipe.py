"""The pipe one stream of a command comes through."""

import fcntl
import os
import struct
import termios
from pathlib import Path

from openagent.jail.capture import Capture

READ_SIZE = 256 * 1024


class OutputPipe:
    """Carries one stream of one command, and is used again for the next when nothing else can write to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        os.mkfifo(path, 0o600)
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._guard: int | None = None

    def open(self) -> None:
        """From here on the pipe has a writer, so that it does not seem at its end before the command opened it."""
        self._guard = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def drain(self, capture: Capture) -> bool:
        """Takes what the command had written when it ended; True when nobody can write any more."""
        if self._guard is not None:
            os.close(self._guard)
            self._guard = None
        waiting = struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0\0\0\0"))[0]
        try:
            while waiting > 0 and (data := os.read(self.fd, min(waiting, READ_SIZE))):
                waiting -= len(data)
                capture.feed(data)
            return os.read(self.fd, 1) == b""
        except BlockingIOError:
            return False

    def release(self) -> int:
        """For reading on without this object; nobody new can open the pipe."""
        self._path.unlink(missing_ok=True)
        return self.fd
