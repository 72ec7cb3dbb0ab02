"""`openagent acp`: the Agent Client Protocol on stdin and stdout over a client of the daemon. A composition root."""

import asyncio
import logging
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import count
from typing import TypeVar

from msgspec import Struct

from openagent.client import Client, connect
from openagent.gateway.acp.agent import Agent, number_of
from openagent.gateway.jsonrpc_wire import Peer
from openagent.gateway.stdio import input_lines, write_output
from openagent.protocol import ops
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, ConnectionClosing

RETRY_SECONDS = 0.25
R = TypeVar("R", bound=Struct)
_log = logging.getLogger(__name__)


def main(arguments: list[str]) -> int:
    if arguments:
        sys.stderr.write("openagent: `openagent acp` takes no arguments. See `openagent acp --help`.\n")
        return 2
    try:
        asyncio.run(serve(input_lines(), _write))
    except KeyboardInterrupt:
        return 130
    return 0


async def serve(messages: AsyncIterator[bytes | None], write: Callable[[bytes], None]) -> None:
    """Until the editor has no more to say."""
    line = Line()
    agent = line.agent = Agent(line)
    peer = Peer(agent.methods, write, number_of)
    agent.meet(peer)
    try:
        async for message in messages:
            await peer.receive(message)
    finally:
        await agent.leave()
        await line.close()


def _write(message: bytes) -> None:
    with suppress(BrokenPipeError):  # the editor has gone; the end of its input says so too
        write_output(message)


class Line:
    """The connection to the daemon: opened when it is first needed, made anew when it is lost."""

    agent: Agent

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)
        self._numbers = count(1)
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None

    def next_id(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    async def request(self, op: ops.Op, kind: type[R]) -> R:
        return await (await self._open(may_start=True)).request(op, kind)

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _open(self, *, may_start: bool) -> Client:
        async with self._opening:
            if self._client is None:
                client = await connect(name=self.agent.editor_name, interactive=True, auto_start=may_start)
                self._client = client
                self._following = asyncio.create_task(self._follow(client))
                for attach in self.agent.attachments():
                    try:
                        self.agent.attached_again(await client.request(attach, ops.Attached))
                    except OpenAgentError as problem:
                        if problem.info.code == "not_found":
                            self.agent.gone(attach.session)
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
            self.agent.show(event)
        except Exception:  # the supervisor: a defect loses one update and not the connection
            _log.exception("an event could not be shown: %s", type(event).__name__)
