"""Small servers of tests, which talk to programs that come and go."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def patient(handler: Handler) -> Handler:
    """Bears a peer that leaves early, as a pool does that opened a connection and took another one instead."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await handler(reader, writer)
            return
        writer.close()

    return serve
