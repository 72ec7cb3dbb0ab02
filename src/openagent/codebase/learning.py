"""Telling the index which of the pieces that a session was shown it then opened, changed or answered from."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from openagent.daemon.bus import EventBus
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.plugins.index import Index
from openagent.protocol.events import ToolFinished, ToolStarted, TurnCompleted
from openagent.protocol.words import about

_SEARCH = "search_code"
_DEFAULT_LINES = 2000
_CLOCKS = 0.1
"""Seconds by which the beginning of a turn is told less exactly than what was shown in it."""


class IndexLearning:
    def __init__(self, index: Index, loaded: LoadedSessions, bus: EventBus) -> None:
        self._index = index
        self._loaded = loaded
        self._searched: dict[str, Path] = {}
        """Sessions that were shown something in the turn they are in, and where they work."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        bus.subscribe(ToolFinished, self._finished)
        bus.subscribe(ToolStarted, self._started)
        bus.subscribe(TurnCompleted, self._completed)

    def was_shown(self, session: str, workspace: Path) -> None:
        self._searched[session] = workspace

    async def close(self) -> None:
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _finished(self, event: ToolFinished) -> None:
        if event.tool == _SEARCH and not event.is_error and (session := self._loaded.find(event.session)):
            self.was_shown(event.session, session.workspace)

    def _started(self, event: ToolStarted) -> None:
        opened = about(event.tool)
        if opened.kind not in ("read", "edit") or (workspace := self._searched.get(event.session)) is None:
            return
        session, lines = event.session, _lines(event.arguments)
        for path in (event.arguments.get(name) for name in opened.paths):
            if isinstance(path, str):
                self._later(session, partial(self._index.used, workspace, session, _relative(path, workspace), lines))

    def _completed(self, event: TurnCompleted) -> None:
        if (workspace := self._searched.pop(event.session, None)) is not None:
            since = event.at - event.duration_ms / 1000 - _CLOCKS
            if event.reason == "done":
                self._later(event.session, lambda: self._index.answered(workspace, event.session, since, event.text))

    def _later(self, session: str, work: Callable[[], Awaitable[None]]) -> None:
        """One after the other for each session: what was used is marked before the rest is judged."""
        before = self._tasks.get(session)

        async def after() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            await work()
            if self._tasks.get(session) is asyncio.current_task():
                del self._tasks[session]

        self._tasks[session] = asyncio.create_task(after())


def _relative(path: str, workspace: Path) -> str:
    given = Path(path)
    return str(given.relative_to(workspace)) if given.is_relative_to(workspace) else path.removeprefix("./")


def _lines(arguments: dict[str, Any]) -> tuple[int, int] | None:
    """What a read opens; None for all of it, and for a change, whose place the arguments do not tell."""
    start, count = arguments.get("start"), arguments.get("lines", _DEFAULT_LINES)
    if not isinstance(start, int) or not isinstance(count, int) or start < 1:
        return None
    return start, start + count
