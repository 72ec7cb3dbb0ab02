"""This process's stdin and stdout, for the gateways that speak over them."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

from openagent.gateway.jsonrpc_wire import Lines

_CHUNK = 65536
_CHUNKS_WAITING = 16


async def input_lines() -> AsyncIterator[bytes | None]:
    """Lines that hold something, until the input ends. None stands for one that was too long."""
    chunks = _start_reading()
    lines = Lines()
    while data := await chunks.get():
        for line in lines.feed(data):
            if line is None or line.strip():
                yield line
    for line in lines.end():
        if line is None or line.strip():
            yield line


def _start_reading() -> "asyncio.Queue[bytes]":
    """On a thread, since stdin may be a file, which no event loop can wait for. Empty bytes stand for the end."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue(_CHUNKS_WAITING)

    def read() -> None:
        data = b"-"
        with suppress(RuntimeError):  # the loop has ended before the input
            while data:
                try:
                    data = os.read(0, _CHUNK)
                except OSError:
                    data = b""
                asyncio.run_coroutine_threadsafe(chunks.put(data), loop).result()

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return chunks


def write_output(message: bytes) -> None:
    while message:
        message = message[os.write(1, message) :]
