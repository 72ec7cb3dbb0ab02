"""Which sessions are in memory: each once, or on its way in or out, and whoever asks meanwhile waits."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from openagent.core.session import Session
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.daemon.sessions_in_use import current_use, in_use
from openagent.protocol.errors import OpenAgentError

Load = Callable[[str], Awaitable[Session | str]]
"""The session of this id as it is in the store; its whole id, when only the beginning was given. Raises not_found."""
PutAway = Callable[[Session], "asyncio.Task[None]"]
Afterwards = Callable[[], Awaitable[None]]
_LET_GO_S = 5.0
"""How long the next one to ask waits for an op that still works with a session that was put away."""
_log = logging.getLogger(__name__)


class Roster:
    def __init__(
        self,
        loaded: LoadedSessions,
        load: Load,
        put_away: PutAway,
        *,
        kept: int,
        is_spare: Callable[[Session], bool],
    ) -> None:
        """`kept` sessions stay although nobody needs them; `is_spare` tells whether somebody needs one. `put_away`
        has it leave."""
        self._load = load
        self._put_away = put_away
        self._kept = kept
        self._is_spare = is_spare
        self._loaded = loaded.by_id
        self._loading: dict[str, asyncio.Task[str]] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._awaited: Counter[str] = Counter()
        """Those who wait for a session that is not there yet."""
        self._in_hand: Counter[Session] = Counter()
        self._let_go = asyncio.Event()
        """Set when an op lets go of a session. One that was put away while an op held it is not loaded anew before:
        there would be two of it, each with numbers of its own for what it records."""

    async def get(self, name: str) -> Session:
        """Raises not_found."""
        use = current_use()
        while True:
            if use is not None and name in use.sessions:
                return use.sessions[name][0]
            if (found := self._loaded.pop(name, None)) is not None:
                self._loaded[name] = found
                if use is not None:
                    use.sessions[name] = (found, self)
                    self._in_hand[found] += 1
                return found
            name = await self._come(name)

    def let_go(self, session: Session) -> None:
        self._in_hand[session] -= 1
        if not self._in_hand[session]:
            del self._in_hand[session]
        self._let_go.set()

    async def _come(self, name: str) -> str:
        """Wait until it is there. Returns its whole id."""
        self._awaited[name] += 1
        try:
            if (leaving := self._leaving.get(name)) is not None:
                await asyncio.wait([leaving])
                return name
            if (task := self._loading.get(name)) is None:
                task = self._loading[name] = asyncio.create_task(self._take_in(name))
                task.add_done_callback(lambda done: self._arrived(name, done))
            return await asyncio.shield(task)
        finally:
            # Not before whoever waited has it: this runs, and `get` goes on, without a pause between.
            self._awaited[name] -= 1
            if not self._awaited[name]:
                del self._awaited[name]

    def _arrived(self, name: str, task: "asyncio.Task[str]") -> None:
        del self._loading[name]
        if not task.cancelled():
            task.exception()  # told to those who wait for it, who may all have gone meanwhile

    async def _take_in(self, name: str) -> str:
        await self._wait_for_hands(name)
        with in_use():  # the sessions it works for stay at least until it is there itself
            loaded = await self._load(name)
            if isinstance(loaded, str):
                return loaded
            self._loaded[loaded.id] = loaded
            loaded.go_on_soon()
        self._make_room()
        return loaded.id

    async def _wait_for_hands(self, name: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LET_GO_S):
                while any(session.id == name for session in self._in_hand):
                    self._let_go.clear()
                    await self._let_go.wait()

    def _make_room(self) -> None:
        too_many = len(self._loaded) - self._kept
        if too_many <= 0:
            return
        spare = [session for session in self._unneeded() if self._is_spare(session)]
        for session in spare[:too_many]:
            self._put_away(session)

    def _unneeded(self) -> list[Session]:
        """Nobody waits for them or works with them, and no other session depends on them."""
        needed = {*self._awaited, *(session.info.parent for session in self._loaded.values())}
        return [each for each in self._loaded.values() if each.id not in needed and each not in self._in_hand]

    async def put_away_all(self, which: Callable[[Session], bool]) -> None:
        leaving = [self._put_away(session) for session in self._unneeded() if which(session)]
        await asyncio.gather(*leaving, return_exceptions=True)  # what went wrong is in the log

    def leave(self, session: Session, then: Afterwards | None = None) -> "asyncio.Task[None]":
        """Put it away, and do what is to follow before anybody can have it again."""
        if self._loaded.get(session.id) is session:
            del self._loaded[session.id]
        before = self._leaving.get(session.id)
        task = self._leaving[session.id] = asyncio.create_task(_see_off(session, before, then))
        task.add_done_callback(lambda done: self._left(session.id, done))
        return task

    def _left(self, session: str, task: "asyncio.Task[None]") -> None:
        if self._leaving.get(session) is task:
            del self._leaving[session]
        if not task.cancelled() and (problem := task.exception()) is not None:
            _log.error("unloading a session failed", exc_info=problem, extra={"session": session})

    async def close(self) -> None:
        """Whoever is on the way in is awaited, and leaves with the others."""
        while self._loading:
            await asyncio.wait(self._loading.values())
        await asyncio.gather(*map(self._put_away, list(self._loaded.values())), return_exceptions=True)
        await asyncio.gather(*self._leaving.values(), return_exceptions=True)


async def _see_off(session: Session, before: "asyncio.Task[None] | None", then: Afterwards | None) -> None:
    if before is not None:
        await asyncio.wait([before])
    try:
        await session.close()
    except OpenAgentError:
        _log.exception("session could not be saved completely while unloading", extra={"session": session.id})
    if then is not None:
        await then()
