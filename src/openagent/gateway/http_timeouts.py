"""HTTP connections that do not wait for ever: a request's head and its body have to come, and strangers are counted.

Imports uvicorn: load it with the web, off the event loop.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from openagent.gateway.crowd import Crowd

HEAD_SECONDS = 10.0
"""For the whole head of a request."""
BODY_SECONDS = 20.0
"""For its body, or for a good piece of it."""
PIECE = 16 * 1024
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class PatientHttp(H11Protocol):
    crowd: Crowd

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for = ""
        self._came = 0
        self._has_answered = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] -- as uvicorn has it
        super().connection_made(transport)
        if self.client is not None:
            self.crowd.enter(self.client, transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        super().data_received(data)
        if not self._upgraded:
            self._watch(has_begun=True)

    def on_response_complete(self) -> None:
        self._has_answered = True
        super().on_response_complete()
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop_watching()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        if self.client is not None:
            self.crowd.leave(self.client)
        super().connection_lost(exc)

    @property
    def _upgraded(self) -> bool:
        return self.transport.get_protocol() is not self

    def _watch(self, *, has_begun: bool = False) -> None:
        """Looks at what is missing of a request, and gives it its time."""
        state = self.conn.their_state
        if state is h11.IDLE and (has_begun or not self._has_answered):
            self._expect("head", HEAD_SECONDS)
        elif state is h11.SEND_BODY:
            self._expect("body", BODY_SECONDS)
        else:
            self._stop_watching()

    def _expect(self, part: str, seconds: float) -> None:
        if self._deadline is not None and self._waits_for == part and not (part == "body" and self._came >= PIECE):
            return
        self._stop_watching()
        self._waits_for, self._came = part, 0
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.flow.read_paused:  # it is we who do not read
            self._watch(has_begun=True)
            return
        if self.conn.our_state in (h11.IDLE, h11.DONE):
            self.transport.write(_TOO_SLOW)
            self.transport.close()
        else:
            self.transport.abort()


class CountedWebSocket(WebSocketsSansIOProtocol):
    crowd: Crowd

    def connection_lost(self, exc: Exception | None) -> None:
        if self.client is not None:
            self.crowd.leave(self.client)
        super().connection_lost(exc)
