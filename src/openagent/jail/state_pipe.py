"""What a shell tells of itself after each command, waiting in a pipe until somebody wants to know.

Bash writes it line by line. Read as it comes, it would wake the daemon for every line; so nobody listens, and all of it
is taken at once before the next command, or when it is to be kept. What does not fit into the pipe holds up the shell,
and nobody else, until then.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable

from msgspec.structs import replace

from openagent.jail.output_pipe import READ_SIZE
from openagent.jail.shell_state import NewShell, ShellState

_LIMIT = 8 * 1024 * 1024
_TRACES = re.compile(rb'^declare -\S+ SHELLOPTS=".*xtrace', re.MULTILINE)


class StatePipe:
    def __init__(self, fd: int, given: ShellState, token: bytes) -> None:
        """`token` marks what the shell is like before any command."""
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._given = given
        self._own_token = token
        self._awaited = b""
        self._buffer = bytearray()
        self._new_shell = NewShell(b"")
        self._coming = b""
        self._settings: bytes | None = None
        self._functions = b""
        self._following = False
        self.traces: bool | None = None
        """Whether it traces its commands; None until one has run."""
        self._on_told: Callable[[], None] | None = None
        self.told = asyncio.Event()
        """All is here about the last command; the report of it comes a little later than that of its end."""
        self.told.set()

    def state(self, directory: str) -> ShellState:
        """For the next shell: as it was after the last command that is told of in full."""
        self.take_in()
        if self._settings is None:
            return replace(self._given, directory=directory)
        return ShellState(directory, self._new_shell.changed(self._settings), self._functions)

    def expect(self, token: bytes) -> None:
        """A command is over, and its report begins to come."""
        self._awaited = token
        self.told.clear()

    def take_in(self) -> None:
        """What is there by now."""
        if self._fd < 0 or (self.told.is_set() and self._settings is not None):
            return
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._fd, READ_SIZE):
                self._buffer += data
                self._split()
                if self.told.is_set():
                    break

    def follow(self, on_told: Callable[[], None] | None = None) -> None:
        """The rest as it comes, so that a shell which has more to tell than the pipe holds can go on."""
        self._on_told = on_told or self._on_told
        if not self.told.is_set() and not self._following and self._fd >= 0:
            self._following = True
            self._loop.add_reader(self._fd, self.take_in)

    def _split(self) -> None:
        while (end := self._buffer.find(0)) >= 0:
            record = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            if self._awaited and (at := record.find(self._awaited)) >= 0:
                self._handle(*_parts(record, at + len(self._awaited)))
            elif (at := record.find(self._own_token)) >= 0:
                self._new_shell = NewShell(_parts(record, at + len(self._own_token))[1])
        if len(self._buffer) > _LIMIT:
            self._buffer.clear()

    def _handle(self, kind: bytes, body: bytes) -> None:
        if kind == b"V":
            self._coming = body
        elif kind == b"F":
            self._settings, self._functions = self._coming, body
            self.traces = b"xtrace" in self._settings and _TRACES.search(self._settings) is not None
            self._stop_following()
            self.told.set()
            if self._on_told is not None:
                on_told, self._on_told = self._on_told, None
                on_told()

    def _stop_following(self) -> None:
        if self._following:
            self._following = False
            self._loop.remove_reader(self._fd)

    def close(self) -> None:
        """What came by now is kept."""
        if self._fd < 0:
            return
        self.take_in()
        self._stop_following()
        os.close(self._fd)
        self._fd = -1
        self.told.set()


def _parts(record: bytes, at: int) -> tuple[bytes, bytes]:
    kind, _, body = record[at + 1 :].partition(b" ")
    return kind, body
