"""The WebSocket at /ws: the same ops and events as text frames. A token is required."""

import asyncio
import contextlib
import hmac
import socket
import time
from collections.abc import AsyncGenerator, Sequence
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.protocol.codec import MAX_FRAME, UndecodableOp, decode_op, encode_event
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ConnectionClosing

MAX_UNSENT = 8 * 1024 * 1024
SHUTDOWN_SECONDS = 3
UNAUTHORIZED = 4401
TOO_SLOW = 1013
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class WebSocketLine:
    def __init__(self, daemon: Daemon, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent_bytes = 0
        self._too_slow = False
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._connection = Connection(daemon, self)

    def send(self, body: bytes) -> None:
        self._unsent_bytes += len(body)
        if self._unsent_bytes > MAX_UNSENT:
            self._too_slow = True
        else:
            self._unsent.put_nowait(body)

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    async def talk(self) -> None:
        writer = asyncio.create_task(self._write())
        reader = asyncio.create_task(self._read())
        try:
            await asyncio.wait([reader, writer], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._connection.close()
            for task in (reader, writer):
                task.cancel()
            await asyncio.gather(reader, writer, return_exceptions=True)

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
            await self._websocket.send_text(body.decode())
            self._unsent_bytes -= len(body)
        error = ErrorInfo(
            "slow_client",
            "This client did not keep up with the session and was cut off.",
            hint="Attach again with the last seq it has seen; nothing is lost.",
        )
        await self._websocket.send_text(encode_event(ConnectionClosing(at=time.time(), error=error)).decode())
        await self._websocket.close(TOO_SLOW, "too slow")


class WebServer(uvicorn.Server):
    """Runs inside the daemon, which handles signals itself."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield


def web_app(daemon: Daemon, token: str, allowed_hosts: Sequence[str]) -> Starlette:
    async def endpoint(websocket: WebSocket) -> None:
        if not _is_allowed(websocket, token, allowed_hosts):
            await websocket.accept()
            await websocket.close(UNAUTHORIZED, "a valid token is required")
            return
        await websocket.accept()
        await WebSocketLine(daemon, websocket).talk()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await websocket.close()

    return Starlette(routes=[WebSocketRoute("/ws", endpoint)])


def _is_allowed(websocket: WebSocket, token: str, allowed_hosts: Sequence[str]) -> bool:
    """The token, and no other site's page speaking through somebody's browser (DNS rebinding, cross-site sockets)."""
    header = websocket.headers.get("authorization", "")
    given = header.removeprefix("Bearer ") if header else websocket.query_params.get("token", "")
    host = urlsplit(f"//{websocket.headers.get('host', '')}").hostname or ""
    origin = websocket.headers.get("origin")
    return (
        hmac.compare_digest(given.encode(), token.encode())
        and host in allowed_hosts
        and (origin is None or urlsplit(origin).hostname in allowed_hosts)
    )


@contextlib.asynccontextmanager
async def serve_web(daemon: Daemon, host: str, port: int, token: str) -> AsyncGenerator[int, None]:
    """Yields the port, which is the kernel's choice when 0 was asked for."""
    allowed = (*_LOOPBACK, host)
    config = uvicorn.Config(
        web_app(daemon, token, allowed),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="websockets-sansio",
        ws_max_size=MAX_FRAME,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as problem:
        listener.close()
        raise OpenAgentError(
            "config_error",
            f"Port {port} on {host} cannot be opened: {problem.strerror}.",
            hint="Choose another with --web-socket.",
        ) from None
    server = WebServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await serving
