"""The address /socket.io. What stands behind it is an extra, and loaded when somebody first comes."""

import asyncio
import importlib

from starlette.types import ASGIApp, Receive, Scope, Send

from openagent.daemon.daemon import Daemon
from openagent.gateway.rest.problems import Refused


class SocketDoor:
    """Whoever comes here has been let in by the guard."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._loading = asyncio.Lock()
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            app = await self._loaded()
        except Refused as refusal:
            await refusal.response()(scope, receive, send)
            return
        await app(scope, receive, send)

    async def _loaded(self) -> ASGIApp:
        async with self._loading:
            if self._app is None:
                await asyncio.to_thread(_load)
                from openagent.gateway.socketio.server import socket_app

                self._app = socket_app(self._daemon)
        return self._app


def _load() -> None:
    try:
        importlib.import_module("socketio")
    except ImportError:
        raise Refused(
            501,
            "not_installed",
            "Socket.IO is not installed here.",
            hint="`openagent extras get socketio` fetches it; REST and the WebSocket have all of it without.",
        ) from None
