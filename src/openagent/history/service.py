"""Finding, bringing and counting what other agents left: `history.*` and `usage.all`."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.history.copies import Copies
from openagent.history.counting import Counting
from openagent.history.finding import find, places
from openagent.history.importing import Counts, Here, Importer, brought_at, is_fresh
from openagent.history.pricing import pricer
from openagent.history.reading import Look, Source
from openagent.history.reports import OWN, all_usage, day_of, on_their_days
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import HistoryImported, HistoryProgress
from openagent.protocol.history import (
    AgentHistory,
    AllUsage,
    FoundHistory,
    HistoryFind,
    HistoryImport,
    ImportedHistory,
    LeftOut,
    UsageAll,
)
from openagent.protocol.origin import FOREIGN_AGENTS, TITLES, ForeignAgent
from openagent.protocol.sessions import Settings
from openagent.sessions.search import SearchService
from openagent.store.history import HistoryFile, SqlHistory
from openagent.telemetry import price_list
from openagent.telemetry.prices import PriceBook

_TOLD_EVERY_S = 0.1


class HistoryService:
    def __init__(
        self,
        history: SqlHistory,
        manager: SessionManager,
        bus: EventBus,
        prices: PriceBook,
        search: SearchService,
        *,
        env: Callable[[], Mapping[str, str]],
        scratch: Path,
    ) -> None:
        self._history = history
        self._manager = manager
        self._bus = bus
        self._price = pricer(prices)
        self._search = search
        self._env = env
        self._scratch = scratch
        self._reading = asyncio.Lock()
        """One at a time reads: two would only read the same."""
        self._behind: _Behind | None = None

    def handlers(self) -> list[Handler]:
        return [
            HistoryFind.handled_by(self._find),
            HistoryImport.handled_by(self._import),
            UsageAll.handled_by(self._usage),
        ]

    async def _find(self, connection: Connection, op: HistoryFind) -> FoundHistory:
        look = await self._look()
        known = await self._history.files()
        async with self._copies() as copies:
            sources = await asyncio.to_thread(lambda: list(find(look, copies)))
        where = await asyncio.to_thread(places, look)
        agents = [_left(agent, where[agent], sources, known) for agent in FOREIGN_AGENTS]
        found = sorted((each for each in agents if each.sessions), key=lambda each: each.sessions, reverse=True)
        return FoundHistory(
            found,
            sum(each.sessions for each in found),
            sum(each.fresh for each in found),
            _left_out(sources, known),
        )

    async def _import(self, connection: Connection, op: HistoryImport) -> ImportedHistory:
        began = time.monotonic()
        async with self._reading, self._copies() as copies:
            importer = Importer(self._history, _Here(self._manager, self._search), self._price, str(self._home))
            known = await self._history.files()
            sources = await self._sources(copies, op.agents, op.since)
            if op.dry_run:
                return _would_bring(sources, known)
            fresh = [each for each in sources if is_fresh(each, known.get(each.name))]
            counting = self._counting()
            new = [each for each in sources if not counting.is_counted(each, known.get(each.name))]
            far = _Far(sum(each.size for each in (*new, *fresh)))
            telling = _Telling(connection, op.id)

            def counted(source: Source) -> None:
                far.end(source)
                telling.say(far)

            await counting.count(new, known, copies, counted)
            for source in sources:
                before = known.get(source.name)
                far.stage = _stage(source)
                telling.say(far, importer.messages)
                await importer.bring(source, before, copies, lambda: telling.say(far, importer.messages))
                if is_fresh(source, before):
                    far.end(source)
        brought = [each.told() for each in importer.counts.values()]
        sessions = sum(each.new + each.grown + each.apart for each in brought)
        if sessions:
            self._search.read_on()
            self._bus.publish(HistoryImported(at=time.time(), sessions=sessions, messages=importer.messages))
        return ImportedHistory(brought, importer.left_out, importer.messages, time.monotonic() - began)

    async def _usage(self, connection: Connection, op: UsageAll) -> AllUsage:
        wrong = [name for name in op.agents if name != OWN and name not in FOREIGN_AGENTS]
        if wrong:
            hint = f"There are {', '.join((OWN, *FOREIGN_AGENTS))}."
            raise OpenAgentError("invalid_argument", f"There is no agent {wrong[0]!r}.", hint=hint)
        theirs: list[ForeignAgent] = [agent for agent in FOREIGN_AGENTS if not op.agents or agent in op.agents]
        left_out: list[LeftOut] = []
        unread = 0
        if theirs:
            left_out, unread = await self._count(connection, op)
            left_out = [each for each in left_out if each.agent in theirs]
        since = day_of(op.since) if op.since else ""
        until = day_of(op.until) if op.until is not None else ""
        spent = [each for each in await self._history.spent(since, until) if each.agent in theirs]
        if not op.agents or OWN in op.agents:
            spent += on_their_days(await self._history.own_spent(), since, until)
        return all_usage(spent, op.by, left_out, unread)

    async def close(self) -> None:
        """What was not counted is, the next time."""
        if self._behind is not None:
            self._behind.task.cancel()
            await asyncio.gather(self._behind.task, return_exceptions=True)

    async def _count(self, connection: Connection, op: UsageAll) -> tuple[list[LeftOut], int]:
        """What was left out, and how many bytes are still to be read when patience ended. It is read on behind whoever
        asked: for the next one, too, who finds it as far as it is."""
        telling = _Telling(connection, op.id)
        until = time.monotonic() + op.patience if op.patience else math.inf
        if self._behind is not None and not self._behind.task.done():
            # It began before this was asked, and may have passed by what is new since.
            await self._wait(self._behind, until, telling)
        if self._behind is None or self._behind.task.done():
            far = _Far()
            self._behind = _Behind(asyncio.create_task(self._count_all(far)), far)
            await self._wait(self._behind, until, telling)
        task, far = self._behind
        return (task.result(), 0) if task.done() else ([], max(far.total - far.done, 1))

    async def _wait(self, behind: "_Behind", until: float, telling: "_Telling") -> None:
        while not behind.task.done() and (left := until - time.monotonic()) > 0:
            await asyncio.wait([behind.task], timeout=min(left, _TOLD_EVERY_S))
            if behind.far.total:
                telling.say(behind.far)

    async def _count_all(self, far: "_Far") -> list[LeftOut]:
        async with self._reading, self._copies() as copies:
            known = await self._history.files()
            sources = await self._sources(copies, FOREIGN_AGENTS, 0.0)
            counting = self._counting()
            far.total = sum(each.size for each in sources if not counting.is_counted(each, known.get(each.name)))
            return await counting.count(sources, known, copies, far.end)

    async def _sources(self, copies: Copies, agents: Sequence[ForeignAgent], since: float) -> list[Source]:
        """The oldest first, so that a request that two files tell of is the older one's."""
        look = await self._look()
        found = await asyncio.to_thread(lambda: list(find(look, copies, agents)))
        return sorted((each for each in found if each.modified >= since), key=lambda each: (each.modified, each.name))

    async def _look(self) -> Look:
        return Look(self._home, self._env(), await self._history.folders())

    @property
    def _home(self) -> Path:
        return Path(self._env().get("HOME") or Path.home())

    def _counting(self) -> Counting:
        return Counting(self._history, self._price, _price_list())

    @asynccontextmanager
    async def _copies(self) -> AsyncGenerator[Copies]:
        copies = Copies(self._scratch)
        try:
            yield copies
        finally:
            await asyncio.to_thread(copies.close)


class _Here:
    """The sessions of this daemon."""

    def __init__(self, manager: SessionManager, search: SearchService) -> None:
        self._manager = manager
        self._search = search
        self._settings: dict[str, Settings] = {}

    async def stands(self, session: str) -> Here:
        loaded = self._manager.loaded(session)
        if loaded is not None:
            if loaded.busy or loaded.inbox.waiting:
                return Here(loaded.info, busy=True)
            await self._manager.put_away(loaded)
        try:
            return Here((await self._manager.runtime.store.session(session)).info)
        except OpenAgentError as problem:
            if problem.info.code != "not_found":
                raise
            return Here(None)

    async def rewritten(self, session: str) -> None:
        await self._search.forget(session)

    def settings(self, cwd: str) -> Settings:
        """No model is chosen: whoever goes on with it has the configured one, or names another."""
        if cwd not in self._settings:
            usual = self._manager.usual(Path(cwd), {})
            self._settings[cwd] = Settings(mode=usual.mode, max_steps=usual.max_steps)
        return self._settings[cwd]


class _Far:
    """How far the reading is, in bytes."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self.done = 0
        self.stage = "Reading"

    def end(self, source: Source) -> None:
        self.stage = _stage(source)
        self.done += source.size


class _Behind(NamedTuple):
    """What is counted behind those who ask."""

    task: "asyncio.Task[list[LeftOut]]"
    far: _Far


class _Telling:
    """How far it is, to whoever asked; not more often than anybody could read."""

    def __init__(self, connection: Connection, op_id: str) -> None:
        self._connection = connection
        self._op_id = op_id
        self._told = 0.0

    def say(self, far: _Far, messages: int = 0) -> None:
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY_S:
            self._told = now
            progress = HistoryProgress(
                op_id=self._op_id,
                at=time.time(),
                stage=far.stage,
                done=far.done,
                total=far.total,
                messages=messages,
            )
            self._connection.tell(progress)


def _stage(source: Source) -> str:
    return f"Reading {TITLES[source.agent]}"


def _left(
    agent: ForeignAgent, where: list[str], sources: Sequence[Source], known: Mapping[str, HistoryFile]
) -> AgentHistory:
    own = [each for each in sources if each.agent == agent]
    return AgentHistory(
        agent,
        TITLES[agent],
        where,
        sessions=sum(each.sessions for each in own),
        bytes=sum(each.size for each in own),
        oldest=min((each.modified for each in own), default=0.0),
        newest=max((each.modified for each in own), default=0.0),
        fresh=sum(each.sessions for each in own if is_fresh(each, known.get(each.name))),
        brought_at=max((brought_at(known[each.name]) for each in own if each.name in known), default=0.0),
    )


def _left_out(sources: Sequence[Source], known: Mapping[str, HistoryFile]) -> list[LeftOut]:
    seen = [(each, known[each.name].problem) for each in sources if each.name in known]
    return [LeftOut(each.agent, each.path, problem) for each, problem in seen if problem]


def _would_bring(sources: Sequence[Source], known: Mapping[str, HistoryFile]) -> ImportedHistory:
    agents: set[ForeignAgent] = {each.agent for each in sources}
    counts = {agent: Counts(agent) for agent in FOREIGN_AGENTS if agent in agents}
    for source in sources:
        before, figures = known.get(source.name), counts[source.agent]
        if not is_fresh(source, before):
            figures.unchanged += source.sessions
        elif before is not None and before.imported:
            figures.grown += source.sessions
        else:
            figures.new += source.sessions
    return ImportedHistory([each.told() for each in counts.values()], _left_out(sources, known), dry_run=True)


@lru_cache(1)
def _price_list() -> str:
    """Changes with the list of prices."""
    return f"{crc32(price_list.FILE.read_bytes()):08x}"
