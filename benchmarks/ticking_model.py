"""A model that says what time it is: every chunk of its answers holds the moment at which it left.

`python -m benchmarks.ticking_model CHUNKS PAUSE_MS [PARAGRAPH]`: every PARAGRAPH chunks a new paragraph begins.
Speaks Chat Completions, streamed, and nothing else.
"""

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_NOTHING_LISTED = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _choice(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _event(choices=[{"index": 0, "delta": delta, "finish_reason": finish}], usage=None)


def _event(**fields: Any) -> bytes:
    body = {"id": "tick", "object": "chat.completion.chunk", "model": "tick", **fields}
    return _chunk(b"data: " + json.dumps(body).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_END = _choice({}, "stop") + _event(choices=[], usage=_USAGE) + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chunks: int, pause: float, paragraph: int
) -> None:
    loop = asyncio.get_running_loop()
    while head := await _head(reader):
        if head.startswith("get "):
            writer.write(_NOTHING_LISTED)
            continue
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:"))
        await reader.readexactly(length)
        writer.write(_HEAD + _choice({"role": "assistant", "content": ""}))
        began = loop.time()
        for number in range(1, chunks + 1):
            await asyncio.sleep(began + number * pause - loop.time())
            end = "\n\n" if paragraph and number % paragraph == 0 else " "
            writer.write(_choice({"content": f"{time.monotonic_ns()}{end}"}))
        writer.write(_END)
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


async def main(chunks: int, pause: float, paragraph: int) -> None:
    server = await asyncio.start_server(lambda r, w: _answer(r, w, chunks, pause, paragraph), "127.0.0.1", 0)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000, int(sys.argv[3]) if len(sys.argv) > 3 else 0))
