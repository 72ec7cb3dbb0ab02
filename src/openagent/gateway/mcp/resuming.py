"""What a client missed while its connection was down: a laptop that slept does not lose the answer to a long turn."""

import asyncio
from collections import deque
from itertools import count
from typing import Any

from mcp.server.streamable_http import GET_STREAM_KEY, EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

_KEPT = 500
"""Messages of one client. Progress of a turn is most of them, and the answer comes last."""


class Missed(EventStore):
    """Of one client: the SDK numbers streams by requests, which two clients number alike."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._kept: deque[tuple[int, str, JSONRPCMessage | None]] = deque(maxlen=_KEPT)
        self._stored = asyncio.Event()

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        number = next(self._numbers)
        self._kept.append((number, stream_id, message))
        self._stored.set()
        self._stored = asyncio.Event()
        return f"{number}/{stream_id}"

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """A request's stream is followed to its answer. The SDK would do that itself, and lose what is stored between
        the last message sent here and its own beginning."""
        number, _, stream = last_event_id.partition("/")
        if not number.isdecimal() or stream not in {its_stream for _, its_stream, _ in self._kept}:
            return None
        last = int(number)
        while True:
            news = self._stored
            for stored, its_stream, message in list(self._kept):
                if its_stream == stream and stored > last:
                    last = stored
                    if message is not None:
                        await send_callback(EventMessage(message, f"{stored}/{stream}"))
                    if isinstance(message, JSONRPCResponse | JSONRPCError):
                        return None
            if stream == GET_STREAM_KEY:
                return stream
            await news.wait()


class ResumingManager(StreamableHTTPSessionManager):
    def _admit_session(self, requestor: Any) -> Any:
        self.event_store = Missed()
        return super()._admit_session(requestor)
