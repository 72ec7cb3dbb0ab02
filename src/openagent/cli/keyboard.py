"""What a person types, line by line or key by key, without blocking the event loop."""

import asyncio
import os
import select
import sys
import termios
import tty
from collections.abc import AsyncGenerator
from typing import Self

_CTRL_D, _ESCAPE = b"\x04", b"\x1b"


class Keyboard:
    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._begun = b""
        """A line that is not ended yet; one that a question interrupted goes on behind it."""
        self._before: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self.by_key(False)

    def by_key(self, wanted: bool) -> None:
        """Whether keys come as they are pressed. What was typed before is no answer, and not lost."""
        if wanted and self._before is None:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor, termios.TCSANOW)
            while select.select([self._descriptor], [], [], 0)[0] and (typed := os.read(self._descriptor, 65536)):
                self._begun += typed
        elif not wanted and self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None
            if self._begun:
                sys.stdout.write(self._begun.decode(errors="replace"))
                sys.stdout.flush()

    async def lines(self) -> AsyncGenerator[str, None]:
        """Ends with Ctrl-D, or with the terminal."""
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        if self._before is not None and data and data != _CTRL_D:
            if not data.startswith(_ESCAPE):  # an arrow or its like answers nothing
                self._lines.put_nowait(data.decode(errors="replace"))
            return
        if not data or data == _CTRL_D:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._lines.put_nowait(None)
            return
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line.decode(errors="replace"))
