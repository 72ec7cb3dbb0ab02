"""What a session wants stored, on its way to the store.

A store may fail: a full disk, a server that was stopped, a file that another program has locked. Nobody waits for it
longer than `PATIENCE`: what was to be stored then stays here, in order, and is tried again until it is stored; what
comes later queues behind it. A batch may be handed over twice, when nobody knows how the first time ended: the store
knows it again.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

import msgspec

from openagent.plugins.store import Batch, Store
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import Event, MessageAdded, MessageQueued, TurnCompleted
from openagent.protocol.messages import Message
from openagent.protocol.sessions import EndedTurn

PATIENCE = 3.0
"""Seconds that storing may take before people are told. A short lock or a server's restart goes unnoticed."""
_SECOND_CHANCE_S = 1.0
"""On a machine that is held up itself, it may be stored by now."""
_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.2, 5.0
_KEPT = "What happened so far is kept in memory, and stored as soon as that works again."
_UNANSWERED = ErrorInfo(
    "store_unavailable",
    f"The database did not answer for {PATIENCE:g} seconds.",
    hint="Check that its disk or its server is well.",
)
_log = logging.getLogger(__name__)


class _Handed:
    """One batch, handed over: how it ends within the time that people wait for it."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._alarm = self._loop.call_later(PATIENCE, self._give_up)
        self.problem: Exception | None = None
        self.began = time.monotonic()

    def _give_up(self) -> None:
        self.told(OpenAgentError("store_unavailable", _UNANSWERED.message, hint=_UNANSWERED.hint))

    def told(self, problem: Exception | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._alarm.cancel()
        self.problem = problem
        if problem is None:
            self._tell()
        if not self._ended.done():
            self._ended.set_result(None)

    async def ended(self) -> asyncio.CancelledError | None:
        """Who is cancelled meanwhile, is so at the end of it."""
        cancelled: asyncio.CancelledError | None = None
        while not self._is_over:
            try:
                await self._ended
            except asyncio.CancelledError as cancel:
                cancelled = cancel
                self._ended = self._loop.create_future()
        return cancelled


class Outbox:
    def __init__(self, session: str, store: Store, on_stored: Callable[[], None]) -> None:
        """`on_stored` is called when all is stored that had to wait."""
        self._session = session
        self._store = store
        self._on_stored = on_stored
        self._waiting: deque[Batch] = deque()
        self._has_missed = False
        self._refused = 0
        self._problem = _UNANSWERED
        self._retrying: asyncio.Task[None] | None = None
        self._try_now = asyncio.Event()
        """Set by whoever waits for the store: the pause before the next try ends. It is cleared when a pause begins, so
        a wish that came while a try was under way, and was answered by it, shortens no later pause."""

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    @property
    def problem(self) -> ErrorInfo:
        """Why there is something in it."""
        return msgspec.structs.replace(self._problem, message=f"{self._problem.message} {_KEPT}")

    def check(self, so: str = "") -> None:
        """Nobody acts on what is not stored. `so` says what is not done."""
        if self._waiting:
            raise OpenAgentError("store_unavailable", f"{self.problem.message} {so}".strip(), hint=self._problem.hint)

    async def store(self, batch: Batch, tell: Callable[[], None] = lambda: None) -> bool:
        """True when it is stored, False when it will be. Raises what the store has against this batch.

        Unless it does, `tell` is called once, and when it is stored in time, in the very turn of the event loop in
        which that is known: with many sessions at work, a turn takes milliseconds. Who is cancelled meanwhile, is so
        after that."""
        if self._has_missed:
            self._has_missed = False
            batch = msgspec.structs.replace(batch, before=None)
        if self._waiting:
            self._waiting.append(batch)
            tell()
            return False
        handed = _Handed(tell)
        self._store.hand_over(batch, handed.told)
        cancelled = await handed.ended()
        if handed.problem is None:
            if cancelled is not None:
                raise cancelled
            return True
        if not isinstance(handed.problem, OpenAgentError) or handed.problem.info.code != "store_unavailable":
            self._has_missed = batch.before is None  # what it had to say for another, the next one has to
            raise handed.problem
        self._problem = handed.problem.info
        self._waiting.append(batch)
        self._retrying = asyncio.create_task(self._retry(), name=f"outbox {self._session}")
        try:
            if cancelled is not None:
                raise cancelled
            return await self.stored_within(max(handed.began + PATIENCE - time.monotonic(), _SECOND_CHANCE_S))
        finally:
            tell()

    async def stored_within(self, seconds: float) -> bool:
        self._try_now.set()
        if self._retrying is not None and seconds > 0:
            await asyncio.wait([self._retrying], timeout=seconds)
        return self.is_empty

    async def settled(self, seconds: float) -> bool:
        """All that is in it is stored by then; and not refused, as it is when another daemon has the session now."""
        refused = self._refused
        return self.is_empty or (await self.stored_within(seconds) and self._refused == refused)

    async def close(self, seconds: float) -> None:
        if not await self.stored_within(seconds) and self._retrying is not None:
            about = {"session": self._session, "batches": len(self._waiting), "reason": self._problem.message}
            _log.error("session closed with events that could not be stored; they are lost", extra=about)
            self._retrying.cancel()

    async def _retry(self) -> None:
        _log.warning(
            "database write failed, retrying; events are kept in memory",
            extra={"session": self._session, "reason": self._problem.message},
        )
        delay = _FIRST_RETRY_S
        while self._waiting:
            missed = True
            try:
                await self._store.commit(msgspec.structs.replace(self._waiting[0], again=True))
            except OpenAgentError as problem:
                if problem.info.code == "store_unavailable":
                    self._problem = problem.info
                    await self._pause(delay)
                    delay = min(delay * 2, _LONGEST_RETRY_S)
                    continue
                _log.exception(
                    "database refused events that clients already saw; they are lost", extra={"session": self._session}
                )
            except Exception:  # the supervisor: what follows must not wait for ever behind a batch that is broken
                _log.exception(
                    "storing events that clients already saw failed; they are lost", extra={"session": self._session}
                )
            else:
                missed = False
            self._waiting.popleft()
            if missed:
                self._refused += 1
                self.missed()
            delay = _FIRST_RETRY_S
        self._retrying = None
        _log.info("database writes work again, kept events are stored", extra={"session": self._session})
        self._on_stored()

    def missed(self) -> None:
        """Something that people were told is not stored and will not be: what comes next says all of the session's
        row, not only what is different from before."""
        if self._waiting:
            self._waiting[0] = msgspec.structs.replace(self._waiting[0], before=None)
        else:
            self._has_missed = True

    async def _pause(self, seconds: float) -> None:
        self._try_now.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._try_now.wait()
        except TimeoutError:
            pass

    # As the store tells it, with what is on its way there

    async def messages(self, *, limit: int, before: int | None = None, after: int | None = None) -> list[Message]:
        waiting = [message for batch in self._waiting for message in batch.messages]
        if waiting and after is not None and after >= waiting[0].number - 1:
            return [message for message in waiting if message.number > after][:limit]
        page = await self._store.messages(self._session, limit=limit, before=before, after=after)
        last = page[-1].number if page else after or 0
        page += [each for each in waiting if each.number > last and (before is None or each.number < before)]
        return page[:limit] if after is not None else page[-limit:]

    async def events(self, *, after: int, limit: int) -> list[Event]:
        waiting = [event for batch in self._waiting for event in batch.events]
        if waiting and after >= waiting[0].seq - 1:
            return [event for event in waiting if event.seq > after][:limit]
        events: list[Event] = list(await self._store.events(self._session, after=after, limit=limit))
        last = events[-1].seq if events else after
        return [*events, *(event for event in waiting if event.seq > last)][:limit]

    async def messages_of(self, op_id: str) -> list[MessageAdded | MessageQueued]:
        """What an op had said or put into the queue: what was said comes first."""
        waiting = [event for batch in self._waiting for event in batch.events if event.op_id == op_id]
        found = [*await self._store.messages_of(self._session, op_id), *waiting]
        told = [event for event in found if isinstance(event, MessageAdded | MessageQueued)]
        return sorted(told, key=lambda event: isinstance(event, MessageQueued))

    async def ends(self, first: int, last: int) -> list[EndedTurn]:
        """Of the turns from one number to another."""
        waiting = [event for batch in self._waiting for event in batch.events if isinstance(event, TurnCompleted)]
        stored = await self._store.turns(self._session, first=first, last=last)
        ends = {end.turn: end for end in (*stored, *(event.ended for event in waiting))}
        return [end for turn, end in sorted(ends.items()) if first <= turn <= last]
