"""How bytes travel. Anything with these three methods will do; the daemon offers one without a socket."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from openagent.client.elsewhere import nobody_there
from openagent.protocol.codec import HEADER_SIZE, frame
from openagent.protocol.errors import OpenAgentError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


class Transport(Protocol):
    async def send(self, body: bytes) -> None:
        """Raises ConnectionError when the other side has gone."""
        ...

    async def receive(self) -> bytes | None:
        """None when the other side has gone."""
        ...

    async def close(self) -> None: ...


class UnixTransport:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, path: str) -> "UnixTransport":
        return cls(*await asyncio.open_unix_connection(path))

    async def send(self, body: bytes) -> None:
        self._writer.write(frame(body))
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        try:
            header = await self._reader.readexactly(HEADER_SIZE)
            return await self._reader.readexactly(int.from_bytes(header, "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def close(self) -> None:
        self._writer.close()


class WebSocketTransport:
    def __init__(self, connection: "ClientConnection") -> None:
        self._socket = connection

    @classmethod
    async def open(cls, url: str, token: str) -> "WebSocketTransport":
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        headers = {"Authorization": f"Bearer {token}"}
        try:
            return cls(await connect(url, additional_headers=headers, max_size=None, proxy=None))
        except (OSError, WebSocketException) as problem:
            told = nobody_there(url, problem)
            raise OpenAgentError("provider_error", told["message"], hint=told["hint"]) from None

    async def send(self, body: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._socket.send(body.decode())
        except ConnectionClosed as problem:
            raise ConnectionResetError(str(problem)) from None

    async def receive(self) -> bytes | None:
        from websockets.exceptions import ConnectionClosed

        try:
            message = await self._socket.recv()
        except ConnectionClosed:
            return None
        return message.encode() if isinstance(message, str) else message

    async def close(self) -> None:
        await self._socket.close()
