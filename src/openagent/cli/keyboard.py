"""What a person types, line by line, without blocking the event loop."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import Self


class Keyboard:
    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._begun = b""

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)

    async def lines(self) -> AsyncGenerator[str, None]:
        """Ends with Ctrl-D, or with the terminal."""
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._lines.put_nowait(None)
            return
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line.decode(errors="replace"))
