"""The WebSocket at /ws: the same ops and events as text frames. The guard asks for the token."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from starlette.websockets import WebSocket, WebSocketDisconnect

from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.protocol.codec import UndecodableOp, decode_op, encode_event
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.events import ConnectionClosing

MAX_UNSENT = 8 * 1024 * 1024
LOOK_AGAIN = 15.0
SEE_OFF = 1.0
"""Seconds for the last word to reach them."""
TOO_SLOW = 1013
HUNG_UP = 4401


_FIRST = asyncio.FIRST_COMPLETED


class WebSocketLine:
    def __init__(self, daemon: Daemon, websocket: WebSocket, caller: Caller) -> None:
        self._websocket = websocket
        self._unsent: asyncio.Queue[bytes | None] = asyncio.Queue()
        """None: hang up."""
        self._unsent_bytes = 0
        self._too_slow = False
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._connection = Connection(daemon, self, caller)

    @property
    def unsent(self) -> int:
        return self._unsent_bytes

    def send(self, body: bytes) -> None:
        self._unsent_bytes += len(body)
        if self._unsent_bytes > MAX_UNSENT:
            self._too_slow = True
        else:
            self._unsent.put_nowait(body)

    def flush(self) -> None:
        """Its writer has been woken."""

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def hang_up(self) -> None:
        self._unsent.put_nowait(None)

    async def talk(self) -> None:
        writer = asyncio.create_task(self._write())
        reader = asyncio.create_task(self._read())
        try:
            while not (await asyncio.wait([reader, writer], timeout=self._pause(), return_when=_FIRST))[0]:
                await self._look_again()
        finally:
            self._connection.close()
            for task in (reader, writer):
                task.cancel()
            await asyncio.gather(reader, writer, return_exceptions=True)

    def _pause(self) -> float | None:
        """Seconds after which to see whether they are still let in; None: whoever lets them in no longer hangs up."""
        caller = self._connection.caller
        left = None if caller.expires_at is None else max(caller.expires_at - time.time(), 0.0)
        return min(LOOK_AGAIN if left is None else left, LOOK_AGAIN) if caller.person else left

    async def _look_again(self) -> None:
        """Another daemon may have been told that a person is let in no longer, and a login ends by itself."""
        if not await self._connection.is_welcome():
            self.hang_up()
            await asyncio.sleep(SEE_OFF)

    async def _read(self) -> None:
        while True:
            await self._may_read.wait()
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            body = message.get("text") or message.get("bytes") or b""
            try:
                self._connection.receive(decode_op(body))
            except UndecodableOp as problem:
                self._connection.refuse(problem, problem.op_id)

    async def _write(self) -> None:
        while not self._too_slow:
            body = await self._unsent.get()
            if body is None:
                await self._websocket.close(HUNG_UP, "the login has ended")
                return
            await self._websocket.send_text(body.decode())
            self._unsent_bytes -= len(body)
        error = ErrorInfo(
            "slow_client",
            "This client did not keep up with the session and was cut off.",
            hint="Attach again with the last seq it has seen; nothing is lost.",
        )
        await self._websocket.send_text(encode_event(ConnectionClosing(at=time.time(), error=error)).decode())
        await self._websocket.close(TOO_SLOW, "too slow")


def websocket_endpoint(daemon: Daemon) -> Callable[[WebSocket], Awaitable[None]]:
    """Whoever comes here has been let in by the guard."""

    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        await WebSocketLine(daemon, websocket, websocket.state.caller).talk()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await websocket.close()

    return endpoint
