"""The answer being streamed right now, as far as it has come. What was shown of it is kept, should the daemon die."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Part, TextPart, ThinkingPart
from openagent.protocol.sessions import LiveAnswer

KEPT_AFTER = 0.75
"""Seconds that what was shown may wait to be kept: less than one, so that a write may take its time too. An answer that
is there sooner costs no write."""
_log = logging.getLogger(__name__)
_keeping: set["asyncio.Task[None]"] = set()

Kind = type[TextPart] | type[ThinkingPart]
Keep = Callable[[Sequence[Part], bool], Awaitable[None]]
"""Is given what has come since the last time, and whether what was kept before is void."""


class Draft:
    def __init__(self, message_number: int, keep: Keep | None = None) -> None:
        self.message_number = message_number
        self._runs: list[tuple[Kind, list[str]]] = []
        self._keep = keep
        self._fresh: list[tuple[Kind, str]] = []
        """What is not kept yet."""
        self._begun = False
        """The store holds something of it."""
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self.closed = False

    def begin(self) -> None:
        """The request was sent. Before anything comes back, there is something to keep: it will be paid for."""
        if self._keep is not None and self._timer is None and self._task is None:
            self._wait()

    def add(self, kind: Kind, text: str) -> None:
        if not self._runs or self._runs[-1][0] is not kind:
            self._runs.append((kind, []))
        self._runs[-1][1].append(text)
        if self._keep is not None:
            self._fresh.append((kind, text))
            if self._timer is None and self._task is None:
                self._wait()

    async def void(self) -> None:
        """Another attempt follows: this one is no longer shown, but was paid for."""
        shown = bool(self._runs)
        self._runs.clear()
        self._fresh.clear()
        self._stop_waiting()
        if self._task is not None:
            await asyncio.wait([self._task])
        if shown or self._begun:
            await self._keep_safely([], anew=True)

    def close(self) -> None:
        """It has become a message, or is about to."""
        self.closed = True
        self._stop_waiting()

    @property
    def parts(self) -> list[Part]:
        return [kind("".join(chunks)) for kind, chunks in self._runs]

    def so_far(self) -> LiveAnswer:
        return LiveAnswer(message_number=self.message_number, parts=self.parts)

    def _wait(self) -> None:
        if not self.closed:
            self._timer = asyncio.get_running_loop().call_later(KEPT_AFTER, self._keep_soon)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _keep_soon(self) -> None:
        self._timer = None
        self._task = asyncio.create_task(self._keep_fresh())
        _keeping.add(self._task)
        self._task.add_done_callback(_keeping.discard)

    async def _keep_fresh(self) -> None:
        if self.closed:
            return
        fresh, self._fresh = self._fresh, []
        if not await self._keep_safely(joined(kind(text) for kind, text in fresh), anew=not self._begun):
            self._fresh = [*fresh, *self._fresh]
        self._task = None
        if self._fresh:
            self._wait()

    async def _keep_safely(self, parts: Sequence[Part], *, anew: bool) -> bool:
        """A store that fails does not disturb the answer: it fails again where it matters, and is told there."""
        if self._keep is None:
            return False
        try:
            await self._keep(parts, anew)
        except OpenAgentError:
            _log.warning("partial answer could not be saved; after a crash the turn loses it", exc_info=True)
            return False
        self._begun = True
        return True


def joined(parts: Iterable[Part]) -> list[Part]:
    """With neighbours of one kind in one part."""
    runs: list[tuple[Kind, list[str]]] = []
    for part in parts:
        if isinstance(part, TextPart | ThinkingPart):
            if not runs or runs[-1][0] is not type(part):
                runs.append((type(part), []))
            runs[-1][1].append(part.text)
    return [kind("".join(texts)) for kind, texts in runs]
