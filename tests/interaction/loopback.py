"""Servers on loopback that go by made-up names in a jail."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Served:
    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[str] = []
        """First lines, in the order in which they came."""


@asynccontextmanager
async def web_server(body: bytes = b"hello from outside\n") -> AsyncGenerator[Served]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        served.requests.append(head.partition(b"\r\n")[0].decode())
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    served = Served(server.sockets[0].getsockname()[1])
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()
