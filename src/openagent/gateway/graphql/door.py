"""The address /graphql. What stands behind it is an extra, and loaded when somebody first asks."""

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from openagent.daemon.callers import Caller
from openagent.gateway.rest.asking import Asking, json_response
from openagent.gateway.rest.decode import decode_body, read_body
from openagent.gateway.rest.problems import Refused
from openagent.protocol.op import Op

if TYPE_CHECKING:
    from openagent.gateway.graphql.running import Running


class Query(Struct, frozen=True, rename="camel"):
    """A query, as every GraphQL client sends it."""

    query: str
    """What is asked."""
    variables: dict[str, Any] | None = None
    """What stands for its variables."""
    operation_name: str | None = None
    """Which of several operations is meant."""
    extensions: Any = None
    """Not heeded."""


class Door:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._loading = asyncio.Lock()
        self._running: Running | None = None

    async def describe(self, request: Request) -> Response:
        """The schema, in GraphQL's own language."""
        self._check(request)
        return PlainTextResponse((await self._loaded()).text)

    async def respond(self, request: Request) -> Response:
        caller = self._check(request)
        given = decode_body(request, await read_body(request), Query)

        async def perform(op: Op) -> Struct:
            return await self._asking.perform(caller, op)

        running = await self._loaded()
        status, answer = await running.answer(given.query, given.variables or {}, given.operation_name or "", perform)
        return json_response(answer, status)

    def _check(self, request: Request) -> Caller:
        caller: Caller = request.state.caller
        if not caller.may("read"):
            raise Refused(403, "permission_denied", "The token lacks the scope read.")
        return caller

    async def _loaded(self) -> "Running":
        async with self._loading:
            if self._running is None:
                self._running = await asyncio.to_thread(_load)
        return self._running


def _load() -> "Running":
    try:
        importlib.import_module("graphql")
    except ImportError:
        raise Refused(
            501,
            "not_installed",
            "GraphQL is not installed here.",
            hint="`openagent extras get graphql` fetches it; REST has all of it without.",
        ) from None
    from openagent.gateway.graphql.running import Running

    return Running()
