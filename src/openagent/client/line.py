"""A connection that is made anew when it is lost, for programs that stand between a daemon and somebody else."""

import asyncio
import logging
import secrets
from itertools import count
from typing import Protocol, TypeVar

from msgspec import Struct

from openagent.client.client import Client, connect
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, ConnectionClosing
from openagent.protocol.op import Op
from openagent.protocol.sessions import Attached, SessionAttach

RETRY_SECONDS = 0.25
R = TypeVar("R", bound=Struct)
_log = logging.getLogger(__name__)


class Follower(Protocol):
    """Who receives the events, and knows which sessions they should come from."""

    name: str

    def show(self, event: AnyEvent) -> None: ...

    def attachments(self) -> list[SessionAttach]: ...

    def attached_again(self, attached: Attached) -> None: ...

    def gone(self, session: str) -> None: ...


class Line:
    """The connection to the daemon: opened when it is first needed, made anew when it is lost."""

    follower: Follower

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)
        self._numbers = count(1)
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None

    def next_id(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    async def request(self, op: Op[R]) -> R:
        return await (await self._open(may_start=True)).request(op)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _open(self, *, may_start: bool) -> Client:
        async with self._opening:
            if self._client is None:
                client = await connect(name=self.follower.name, interactive=True, auto_start=may_start)
                self._client = client
                self._following = asyncio.create_task(self._follow(client))
                for attach in self.follower.attachments():
                    try:
                        self.follower.attached_again(await client.request(attach))
                    except OpenAgentError as problem:
                        if problem.info.code == "not_found":
                            self.follower.gone(attach.session)
            return self._client

    async def _follow(self, client: Client) -> None:
        said_goodbye = False
        async with client.all_events() as events:
            while (event := await events.get()) is not None:
                self._show(event)
                said_goodbye |= isinstance(event, ConnectionClosing) and event.error.code == "shutting_down"
        self._client = None
        await client.close()
        # A daemon that was stopped stays so until the editor wants something; one that died is started again.
        while self._client is None:
            try:
                await self._open(may_start=not said_goodbye)
            except (OpenAgentError, OSError):
                await asyncio.sleep(RETRY_SECONDS)

    def _show(self, event: AnyEvent) -> None:
        try:
            self.follower.show(event)
        except Exception:  # the supervisor: a defect loses one update and not the connection
            _log.exception("an event could not be shown: %s", type(event).__name__)
