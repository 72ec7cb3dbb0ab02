"""The HTTP server inside the daemon. Its port is open at once; what serves it loads when the daemon is up."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from openagent.daemon.daemon import Daemon
from openagent.gateway.authentication import Gate
from openagent.protocol.codec import MAX_FRAME
from openagent.protocol.errors import OpenAgentError

if TYPE_CHECKING:
    import uvicorn

SHUTDOWN_SECONDS = 3
_log = logging.getLogger(__name__)


class PortTaken(OpenAgentError):
    """Another program, or another user's daemon, listens there."""


def listen(host: str, port: int) -> socket.socket:
    """Port 0 takes one of the kernel's choice."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as problem:
        listener.close()
        taken = problem.errno == errno.EADDRINUSE
        raise (PortTaken if taken else OpenAgentError)(
            "config_error",
            f"Port {port} on {host} cannot be opened: {problem.strerror}.",
            hint="Choose another port: `openagent config set web.port PORT`.",
        ) from None
    return listener


@contextlib.asynccontextmanager
async def serve_web(
    daemon: Daemon, host: str, listener: socket.socket, gate: Callable[[], Awaitable[Gate]], hosts: Sequence[str] = ()
) -> AsyncGenerator[None, None]:
    """Clients that come before there is a gate wait in the kernel's queue."""
    serving = asyncio.create_task(_serve(daemon, host, listener, gate, hosts))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        listener.close()


async def _serve(
    daemon: Daemon, host: str, listener: socket.socket, gate: Callable[[], Awaitable[Gate]], hosts: Sequence[str]
) -> None:
    ready = await gate()
    try:
        server = await asyncio.to_thread(_build, daemon, host, listener, ready, hosts)
    except Exception:  # the supervisor: without the web the daemon still serves its socket
        _log.exception("web server failed to start")
        return
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(running)
    finally:
        server.should_exit = True
        await running


def _build(daemon: Daemon, host: str, listener: socket.socket, gate: Gate, hosts: Sequence[str]) -> "uvicorn.Server":
    """Imports what the web needs, off the event loop."""
    import uvicorn

    from openagent.gateway.crowd import Crowd, room_for_the_web
    from openagent.gateway.http_timeouts import CountedWebSocket, PatientHttp
    from openagent.gateway.rest.app import web_app

    class Http(PatientHttp):
        crowd = Crowd(room_for_the_web())

    class WebSocket(CountedWebSocket):
        crowd = Http.crowd

    class WebServer(uvicorn.Server):
        """Runs inside the daemon, which handles signals itself."""

        @contextlib.contextmanager
        def capture_signals(self):
            yield

    address = host, listener.getsockname()[1]
    return WebServer(
        uvicorn.Config(
            web_app(daemon, gate, address, hosts, known=Http.crowd.known),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            http=Http,
            ws=WebSocket,
            ws_max_size=MAX_FRAME,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )
