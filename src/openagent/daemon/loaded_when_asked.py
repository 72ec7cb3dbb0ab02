"""Services whose code is loaded when the first of their ops comes: nobody's first answer waits for it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.protocol.op import Op

R = TypeVar("R", bound=Struct)


class Service(Protocol):
    def handlers(self) -> Sequence[Handler]: ...


@runtime_checkable
class _Closes(Protocol):
    async def close(self) -> None: ...


class LoadedWhenAsked:
    def __init__(self, ops: Sequence[type[Op[Any]]], make: Callable[[], Service]) -> None:
        """`make` imports the service and makes it, in a thread. It handles these ops and no others."""
        self._ops = frozenset(ops)
        self._make = make
        self._made: Service | None = None
        self._handlers: dict[type[Op[Any]], Handler] = {}
        self._one_makes = asyncio.Lock()

    def handlers(self) -> list[Handler]:
        return [op.handled_by(self._carry_out) for op in self._ops]

    async def close(self) -> None:
        if isinstance(self._made, _Closes):
            await self._made.close()

    async def ask(self, connection: Connection, op: Op[R]) -> R:
        """For another service, on behalf of the same client."""
        return cast("R", await self._carry_out(connection, op))

    async def load(self) -> Service:
        """Also when nobody has asked yet."""
        async with self._one_makes:
            if self._made is None:
                made = await asyncio.to_thread(self._make)
                self._handlers = {handler.op: handler for handler in made.handlers()}
                assert self._handlers.keys() == self._ops, f"{type(made).__name__} handles other ops"
                self._made = made
            return self._made

    async def _carry_out(self, connection: Connection, op: Op[Any]) -> Struct:
        await self.load()
        return await self._handlers[type(op)].carry_out(connection, op)
