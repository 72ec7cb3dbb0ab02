"""What balancers and clusters ask without a token: does it live, and can it take somebody in. Nothing else is told."""

import asyncio
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from openagent.daemon.callers import OWNER
from openagent.gateway.request_guard import LIVE, READY
from openagent.gateway.rest.asking import Asking
from openagent.gateway.rest.problems import Refused
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionList
from openagent.protocol.trace_context import new_trace

PATIENCE = 5.0
"""Seconds that the database has to answer."""
AGAIN_AFTER = 1.0
"""Seconds until it is asked anew, so that strangers cannot keep it busy."""


class Health:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._looking = asyncio.Lock()
        self._looked_at = 0.0
        self._problem = ""

    def routes(self) -> list[Route]:
        return [
            Route(LIVE, self._live, methods=["GET", "HEAD"]),
            Route(READY, self._ready, methods=["GET", "HEAD"]),
        ]

    async def _live(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, request: Request) -> Response:
        async with self._looking:
            if time.monotonic() - self._looked_at > AGAIN_AFTER:
                self._problem = await self._look()
                self._looked_at = time.monotonic()
        if self._asking.daemon.stopping.is_set() or self._problem:
            raise Refused(503, "not_ready", self._problem or "The daemon is stopping.")
        return PlainTextResponse("ready\n")

    async def _look(self) -> str:
        """In words what is wrong; empty: nothing."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._asking.perform(OWNER.at("a probe"), SessionList(id=new_trace(), limit=1))
        except TimeoutError:
            return "The database does not answer."
        except OpenAgentError as problem:
            return problem.info.message
        return ""
