"""A small web server whose pages a test writes down."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple


class Page(NamedTuple):
    body: bytes = b""
    kind: str = "text/plain"
    status: int = 200
    headers: Mapping[str, str] = {}


class Asked(NamedTuple):
    target: str
    headers: dict[str, str]
    at: str
    """The address the request came in on."""


class Site:
    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.pages = dict(pages)
        self.asked: list[Asked] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            target = head[0].split()[1]
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            self.asked.append(Asked(target, headers, writer.get_extra_info("sockname")[0]))
            page = self.pages.get(target.split("?")[0], Page(b"no such page", status=404))
            lines = {
                "Content-Type": page.kind,
                "Content-Length": str(len(page.body)),
                "Connection": "close",
                **page.headers,
            }
            text = f"HTTP/1.1 {page.status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            writer.write(text.encode() + b"\r\n" + page.body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def site(pages: Mapping[str, Page]) -> AsyncGenerator[Site]:
    """On every loopback address, so that a test can tell them apart."""
    served = Site(pages)
    server = await asyncio.start_server(served.answer, "0.0.0.0", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()
