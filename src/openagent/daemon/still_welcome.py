"""Whoever is let in no longer, or into a session no longer, hears no more: by whatever door they came.

An op is judged when it comes. A stream of events that somebody opened goes on by itself, so it is looked at again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection

from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.reach_interface import Reach
from openagent.protocol.errors import OpenAgentError

LOOK_AGAIN = 15.0
"""Another daemon may have been told, and a link ends by itself."""
_log = logging.getLogger(__name__)


class StillWelcome:
    def __init__(
        self,
        connections: Collection[Connection],
        bus: EventBus,
        *,
        dismiss: Callable[[str], None],
        dismiss_here: Callable[[str], None],
    ) -> None:
        """`dismiss` hangs up on a person everywhere, `dismiss_here` on one login."""
        self._connections = connections
        self._bus = bus
        self._dismiss = dismiss
        self._dismiss_here = dismiss_here
        self._reach: Reach | None = None
        self._looking: asyncio.Task[None] | None = None

    def ready(self, reach: Reach) -> None:
        self._reach = reach

    def came(self, connection: Connection) -> None:
        """Where nobody logs in there is nobody to look after."""
        if _may_end(connection) and self._looking is None:
            self._looking = asyncio.create_task(self._look_again_and_again(), name="still welcome")

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    async def look_at(self, session: str) -> None:
        """It is shared with fewer people from now on."""
        following = self._bus.outlets(session)
        for connection in [each for each in self._connections if each in following or session in each.hears_of]:
            await self._check_sessions(connection, [session])

    async def _look_again_and_again(self) -> None:
        while watched := [each for each in self._connections if _may_end(each)]:
            ends = min((each.caller.expires_at or float("inf") for each in watched), default=float("inf"))
            await asyncio.sleep(min(max(ends - time.time(), 0.0) + 0.01, LOOK_AGAIN))
            for connection in [each for each in self._connections if _may_end(each)]:
                try:
                    await self._look(connection)
                except OpenAgentError as problem:  # a store that does not answer: the next look may tell
                    _log.warning(
                        "access check of a client failed, retrying",
                        extra={"client": connection.name, "reason": str(problem)},
                    )
        self._looking = None

    async def _look(self, connection: Connection) -> None:
        if not await connection.is_welcome():
            self._dismiss_here(connection.caller.id)
        else:
            await self._check_sessions(connection, [*self._bus.sessions_of(connection), *connection.hears_of])

    async def _check_sessions(self, connection: Connection, sessions: Collection[str]) -> None:
        caller = connection.caller
        for session in sessions:
            if self._reach is not None and not await self._reach.hears_still(caller, session):
                self._dismiss(caller.person or caller.id)
                return


def _may_end(connection: Connection) -> bool:
    return bool(connection.caller.person) or connection.caller.expires_at is not None
