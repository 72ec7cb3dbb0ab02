"""The connection of a program that stands between a daemon and somebody else: an editor, a script."""

import asyncio
import logging
import secrets
from itertools import count
from typing import Protocol, TypeVar

from msgspec import Struct

from openagent.client.client import Client, connect
from openagent.client.own_trace import own
from openagent.client.reconnect import Link
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent
from openagent.protocol.op import Op
from openagent.protocol.sessions import Attached, SessionAttach

R = TypeVar("R", bound=Struct)
_log = logging.getLogger(__name__)


class Follower(Protocol):
    """Who receives the events, and knows which sessions they should come from."""

    name: str

    def show(self, event: AnyEvent) -> None: ...

    def attachments(self) -> list[SessionAttach]: ...

    def attached_again(self, attached: Attached) -> None: ...

    def gone(self, session: str) -> None: ...


class BridgeConnection:
    """Opened when it is first needed, made anew when it is lost, with everything attached that was."""

    follower: Follower

    def __init__(self) -> None:
        self._prefix = own.given + secrets.token_hex(4)
        self._numbers = count(1)
        self._link = Link(self._connect)
        self._following: asyncio.Task[None] | None = None

    def next_id(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    async def request(self, op: Op[R]) -> R:
        """A daemon that was stopped is started again when somebody wants something."""
        return await (await self._link.open()).request(op)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        await self._link.close()

    async def _connect(self, may_start: bool) -> Client:
        client = await connect(name=self.follower.name, interactive=True, auto_start=may_start)
        self._following = asyncio.create_task(self._follow(client))
        for attach in self.follower.attachments():
            try:
                self.follower.attached_again(await client.request(attach))
            except OpenAgentError as problem:
                if problem.info.code == "not_found":
                    self.follower.gone(attach.session)
        return client

    async def _follow(self, client: Client) -> None:
        async with client.all_events() as events:
            while (event := await events.get()) is not None:
                self._show(event)
        await self._link.mend(client, lambda problem: None)

    def _show(self, event: AnyEvent) -> None:
        try:
            self.follower.show(event)
        except Exception:  # the supervisor: a defect loses one update and not the connection
            _log.exception("event could not be shown: %s", type(event).__name__)
