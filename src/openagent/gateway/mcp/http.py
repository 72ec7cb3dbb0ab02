"""The same server over streamable HTTP: on this machine alone, for who has the token."""

import hmac
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from openagent.gateway.guesses import Guesses
from openagent.gateway.mcp.resuming import ResumingManager
from openagent.gateway.mcp.server import SessionServer

PATH = "/mcp"
_RETRY = 1000
"""Milliseconds after which a client whose connection ended comes back."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class TokenGate:
    """Other people of the same machine reach its loopback, too."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_known(Headers(scope=scope)):
            given = Headers(scope=scope).get("authorization", "")
            wait = await self._guesses.wrong((scope.get("client") or ("",))[0], given) if given else 0
            refusal = PlainTextResponse(
                "The token is missing or wrong.\n", 401, {"WWW-Authenticate": 'Bearer realm="openagent"'}
            )
            if wait:
                words = f"Too many wrong tokens were tried. Try again in {wait} seconds.\n"
                refusal = PlainTextResponse(words, 429, {"Retry-After": str(wait)})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, headers: Headers) -> bool:
        return hmac.compare_digest(headers.get("authorization", "").encode(), self._expected)


def http_app(server: SessionServer, port: int) -> ASGIApp:
    """A page of another site can send a browser here: neither its name for this machine nor its origin is taken."""
    names = [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in LOOPBACK]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    manager = ResumingManager(server.protocol, security_settings=security, retry_interval=_RETRY)
    route = Route(PATH, endpoint=StreamableHTTPASGIApp(manager))
    return Starlette(routes=[route], lifespan=lambda _: manager.run())


async def serve_http(server: SessionServer, host: str, port: int, token: str, ready: Callable[[str], Any]) -> None:
    """Until it is interrupted. `ready` is told the address."""
    config = uvicorn.Config(TokenGate(http_app(server, port), token), host=host, port=port, log_level="warning")
    listening = config.bind_socket()
    listening.listen()  # whoever is told the address may come at once
    served = uvicorn.Server(config)
    ready(f"http://{host}:{port}{PATH}")
    await served.serve(sockets=[listening])
