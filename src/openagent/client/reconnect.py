"""A connection that is made anew when it is lost: what `attach`, the terminal's windows and the programs that stand
between a daemon and somebody else (an editor, a script) have in common."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

from openagent.client.client import Client, ConnectionLost
from openagent.protocol.daemon import Ping
from openagent.protocol.errors import OpenAgentError

PULSE = 5.0
"""Seconds between two pings, and after which an unanswered one is reported."""
FIRST_WAIT, LONGEST_WAIT, LONGEST_WAIT_HERE = 0.25, 4.0, 1.0
PATIENCE_AT_START = 15.0
"""Seconds within which a daemon that is stopping is gone."""
T = TypeVar("T")
Open = Callable[[bool], Awaitable[Client]]
"""Connect; start a daemon if there is none and that is wanted."""


class Trouble(NamedTuple):
    """The connection is lost, or the daemon does not answer."""

    problem: str
    """Why."""
    again_at: float = 0.0
    """When it is tried again, on the monotonic clock; 0: it is being tried."""
    silent_since: float = 0.0
    """Since when a connected daemon has not answered, on the monotonic clock; 0: it answers."""


class Link:
    def __init__(self, open_: Open, *, remote: str = "", pulse: float = PULSE) -> None:
        self.trouble: Trouble | None = None
        """What is wrong with the connection right now."""
        self.on_trouble: Callable[[Trouble | None], None] = lambda _trouble: None
        """Hears of every change of it."""
        self._hurry = asyncio.Event()
        self._may_start = True
        self.remote = remote
        """The other machine that the daemon works on: its files are not ours."""
        self._pulse = pulse
        self._open = open_
        self._client: Client | None = None
        self._lost = False
        self._opening = asyncio.Lock()
        """Two that want the connection at once get one and the same."""
        self._mending = asyncio.Lock()
        """Of all that notice a loss, one makes the connection anew and the others wait for it."""

    @property
    def client(self) -> Client:
        """While it is lost, one that refuses everything."""
        if self._client is None:
            raise ConnectionLost("There is no connection to the daemon yet.")
        return self._client

    async def open(self, *, may_start: bool = True) -> Client:
        """The connection there is, or a new one. Raises when there is none to be had."""
        async with self._opening:
            if self._client is None or self._lost:
                self._client = await self._open(may_start)
                self._lost = False
            return self._client

    async def begin(self, first: Callable[[Client], Awaitable[T]]) -> T:
        """What somebody asks who has just come. A daemon that is stopping at that moment makes place for the next."""
        deadline = time.monotonic() + PATIENCE_AT_START
        while True:
            try:
                return await first(await self.open())
            except OpenAgentError as problem:
                if problem.info.code != "shutting_down" or time.monotonic() > deadline:
                    raise
            if self._client is not None:
                self._lost = True
                await self._client.close()
            await asyncio.sleep(FIRST_WAIT)

    def try_now(self) -> None:
        """Somebody wants it: also a daemon that was stopped on purpose is started for them."""
        self._may_start = True
        self._hurry.set()

    async def mend(self, lost: Client, tell: Callable[[str], None] = lambda _problem: None) -> None:
        """Returns when there is a connection again, however long that takes; `tell` hears how it goes."""
        async with self._mending:
            if self._client is not lost:
                return
            why = await why_lost(lost)
            # A daemon that said goodbye was stopped by somebody and stays so; one that died is started again.
            self._may_start = why.info == ConnectionLost().info
            self._lost = True
            await lost.close()
            problem, wait = why.info.message, FIRST_WAIT
            while self._lost:
                tell(problem)
                self._tell(Trouble(problem))
                try:
                    await self.open(may_start=self._may_start)
                    break
                except (OpenAgentError, OSError) as refused:
                    problem = refused.info.message if isinstance(refused, OpenAgentError) else str(refused)
                self._tell(Trouble(problem, time.monotonic() + wait))
                await self._pause(wait)
                wait = min(2 * wait, LONGEST_WAIT if self.remote else LONGEST_WAIT_HERE)
            self._tell(None)

    async def watch(self) -> None:
        """Reports a daemon that accepts requests and does not answer them."""
        while True:
            await asyncio.sleep(self._pulse)
            if self._client is None or self._lost:
                continue
            client, since = self._client, time.monotonic()
            answer = asyncio.create_task(_answers(client))
            while not (await asyncio.wait({answer}, timeout=self._pulse))[0]:
                if self.trouble is None:
                    self._tell(Trouble("", silent_since=since))
            if self.trouble is not None and self.trouble.silent_since:
                self._tell(None)

    def _tell(self, trouble: Trouble | None) -> None:
        self.trouble = trouble
        self.on_trouble(trouble)

    async def _pause(self, seconds: float) -> None:
        self._hurry.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


async def why_lost(client: Client) -> OpenAgentError:
    try:
        await client.request(Ping(id=client.next_id()))
    except OpenAgentError as problem:
        return problem
    return ConnectionLost()


async def _answers(client: Client) -> None:
    with suppress(OpenAgentError):  # `mend` reconnects
        await client.request(Ping(id=client.next_id()))
