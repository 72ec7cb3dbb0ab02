"""What a client missed while its connection was down: a laptop that slept does not lose the answer to a long turn."""

from collections import deque
from itertools import count
from typing import Any

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCMessage

_KEPT = 500
"""Messages of one client. Progress of a turn is most of them, and the answer comes last."""


class Missed(EventStore):
    """Of one client: the SDK numbers streams by requests, which two clients number alike."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._kept: deque[tuple[int, str, JSONRPCMessage | None]] = deque(maxlen=_KEPT)

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        number = next(self._numbers)
        self._kept.append((number, stream_id, message))
        return f"{number}/{stream_id}"

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """The id names the stream, so that one whose beginning is no longer kept can be followed."""
        number, separator, stream = last_event_id.partition("/")
        if not separator or not number.isdecimal():
            return None
        for stored, its_stream, message in list(self._kept):
            if its_stream == stream and stored > int(number) and message is not None:
                await send_callback(EventMessage(message, f"{stored}/{stream}"))
        return stream


class ResumingManager(StreamableHTTPSessionManager):
    def _admit_session(self, requestor: Any) -> Any:
        self.event_store = Missed()
        return super()._admit_session(requestor)
