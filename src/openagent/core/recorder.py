"""The one way anything about a session is recorded: stored first, then published, in one order for everybody."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypedDict

import msgspec

from openagent.core.outbox import Outbox
from openagent.core.runtime import Audience, Runtime
from openagent.core.streamed_answer import Draft
from openagent.plugins.store import AuditEntry, BackgroundWork, Batch, CollectionRecord, DraftPiece, KeptGrant, Rows
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.events import (
    ContextCollected,
    ErrorRaised,
    Event,
    StatusChanged,
    ToolOutput,
    ToolStarted,
    TurnCompleted,
)
from openagent.protocol.messages import Message
from openagent.protocol.sessions import AT_REST, SessionInfo, Settings
from openagent.protocol.usage import SessionUsage

POST_DELAY = 0.02
"""Seconds a posted event may wait for company, so that a fast step costs two transactions and not five."""
CROWDED_DELAY = 0.003
"""The same while many sessions work, when a step takes longer than that by far."""
_NOTHING = Rows()
_log = logging.getLogger(__name__)


class InfoChanges(TypedDict, total=False):
    """Fields of a session's info that what is recorded changes. The rest of it follows from events and messages."""

    name: str
    cwd: str
    settings: Settings
    usage: SessionUsage
    turn_count: int
    queued: int
    held: bool
    archived: bool
    template: str
    team: str


class _Posted:
    """What waits for company on its way to the store."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.audit: list[AuditEntry] = []
        self.granted: list[KeptGrant] = []
        self.begun: dict[str, BackgroundWork] = {}
        self.ended: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.events or self.audit or self.granted or self.begun or self.ended)

    def with_own(self, own: Batch) -> Batch:
        """In one transaction with what is recorded now, and before it."""
        return msgspec.structs.replace(
            own,
            events=[*self.events, *own.events],
            audit=[*self.audit, *own.audit],
            granted=[*self.granted, *own.granted],
            begun=list(self.begun.values()),
            ended=[*self.ended, *own.ended],
        )


class Recorder:
    def __init__(
        self,
        info: SessionInfo,
        runtime: Runtime,
        audience: Audience,
        *,
        next_collection: Callable[[CollectionRecord, Sequence[int]], Awaitable[CollectionRecord]],
        take_in: Callable[[Batch], None],
        on_stored: Callable[[], None],
    ) -> None:
        """`next_collection` numbers a record of the view's log. `take_in` hears of every batch before people do.
        `on_stored` is called when all is stored that a failing store had kept waiting."""
        self.info = info
        self.outbox = Outbox(info.id, runtime.store, self._all_is_stored)
        self.draft: Draft | None = None
        """The answer that is being streamed."""
        self.draft_kept = False
        """The store holds pieces of it."""
        self.turn_op: str | None = None
        """The op that the running turn answers; None between turns."""
        self.lock = asyncio.Lock()
        """Held while something is stored and published, and while a client takes its snapshot. Without it, two that
        record at once would give their events the same numbers, and a client that attaches could miss what is published
        between its snapshot and its place among those who hear, or hear it twice."""
        self.numbering = asyncio.Lock()
        """Held from choosing a message's number to its being stored. Without it, the results of two calls that run side
        by side could choose the same."""
        self._id = info.id
        self._runtime = runtime
        self._audience = audience
        self._next_collection = next_collection
        self._take_in = take_in
        self._on_stored = on_stored
        self._published = info.seq
        self._posted = _Posted()
        self._printed_early: dict[str, list[Event]] = {}
        """By call, for as long as its start was posted and people have yet to hear of it."""
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._closed = False
        self._told_of_outage = False

    @property
    def next_number(self) -> int:
        """Of a message."""
        return self.info.message_count + 1

    def show(self, event: Event) -> None:
        """Publish a delta: live only. The output of a call is held back until its start has been published."""
        if isinstance(event, ToolOutput) and (early := self._printed_early.get(event.call_id)) is not None:
            early.append(event)
            return
        self._audience.publish(
            msgspec.structs.replace(
                event, session=self._id, op_id=self.turn_op or "", at=time.time(), seq=self._published
            )
        )

    def post(
        self, *events: Event, op_id: str = "", audit: Sequence[AuditEntry] = (), granted: Sequence[KeptGrant] = ()
    ) -> None:
        """Record soon, without waiting for it."""
        posted = self._posted
        posted.events.extend(self._stamped(events, op_id))
        self._printed_early |= {event.call_id: [] for event in events if isinstance(event, ToolStarted)}
        posted.audit.extend(audit)
        posted.granted.extend(granted)
        self._soon()

    def post_begun(self, work: BackgroundWork) -> None:
        """Something goes on beside the turns from here on."""
        self._posted.begun[work.id] = work
        self._soon()

    def post_ended(self, work: str) -> None:
        self._posted.begun.pop(work, None)
        self._posted.ended.append(work)
        self._soon()

    async def record(
        self, *events: Event, rows: Rows = _NOTHING, changes: InfoChanges | None = None, op_id: str = ""
    ) -> None:
        """Store events and the rows that belong to them in one transaction, then publish the events."""
        changes = changes or {}
        stamped = self._stamped(events, op_id)
        async with self.lock:
            if rows.collection is not None or any(message.pinned for message in rows.messages):
                pinned = [message.number for message in rows.messages if message.pinned]
                collection = await self._next_collection(rows.collection or CollectionRecord(), pinned)
                rows = msgspec.structs.replace(rows, collection=collection)
                stamped = [_numbered(event, collection.id) for event in stamped]
            posted, self._posted = self._posted, _Posted()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            drop_draft = self.draft_kept and _ends_draft(rows.messages, stamped)
            self.draft_kept = self.draft_kept and not drop_draft
            own = Batch(self._id, events=tuple(stamped), drop_draft=drop_draft, **msgspec.structs.asdict(rows))
            if not posted:
                await self._commit(own, changes)
                return
            try:
                await self._commit(posted.with_own(own), changes)
            except Exception:
                # One of the two cannot be stored: the other does not go with it.
                await self._commit_posted(posted.with_own(Batch(self._id)))
                if stamped or changes or drop_draft or rows != _NOTHING:
                    await self._commit(own, changes)

    async def keep_draft(self, piece: DraftPiece, *, anew: bool) -> None:
        self.draft_kept = True
        await self._runtime.store.keep_draft(self._id, piece, anew=anew)

    def has_told(self, error: ErrorInfo) -> bool:
        """Already, when the store began to fail."""
        return error.code == "store_unavailable" and self._told_of_outage

    async def flush(self) -> None:
        """Store what was posted and waits for company, or is on its way already."""
        if self._posted:
            await self.record()
        else:
            async with self.lock:
                pass

    async def close(self, patience: float) -> None:
        if self._flushing is not None:
            await asyncio.wait([self._flushing])
        await self.flush()
        await self.outbox.close(patience)
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    # What was posted

    def _soon(self) -> None:
        """Not once closed: what is left running may still post, and by then the store is closed, too."""
        if self._timer is None and not self._closed:
            delay = CROWDED_DELAY if self._runtime.pace.is_crowded else POST_DELAY
            self._timer = asyncio.get_running_loop().call_later(delay, self._flush_soon)

    def _flush_soon(self) -> None:
        self._timer = None
        if self._posted and self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            await self.record()
        finally:
            self._flushing = None
            if self._posted and self._timer is None:  # while this was being stored
                self._flush_soon()

    async def _commit_posted(self, batch: Batch) -> None:
        """Nobody waits for what was posted, so nobody would hear that it cannot be stored: it is told all the same."""
        try:
            await self._commit(batch, {})
        except Exception:  # the supervisor of what is recorded beside everything else
            _log.exception("events could not be stored; clients saw them", extra={"session": self._id})
            self._publish(self._numbered_batch(batch, {}))
            self.outbox.missed()

    # Numbers, the store, the audience

    def _stamped(self, events: Sequence[Event], op_id: str) -> list[Event]:
        op_id, now = op_id or self.turn_op or "", time.time()
        return [msgspec.structs.replace(event, session=self._id, op_id=op_id, at=now) for event in events]

    async def _commit(self, batch: Batch, changes: InfoChanges) -> None:
        """Whoever is cancelled meanwhile, what is stored and what this session knows stay the same."""
        batch = self._numbered_batch(batch, changes)
        try:
            await self.outbox.store(batch, partial(self._publish, batch))
        finally:
            if not self.outbox.is_empty and not self._told_of_outage:
                self._told_of_outage = True
                self.post(ErrorRaised(error=self.outbox.problem))

    def _numbered_batch(self, batch: Batch, changes: InfoChanges) -> Batch:
        """Every batch takes at least one number, also without events: by it the store knows one again."""
        seq = self.info.seq
        numbered = [msgspec.structs.replace(event, seq=number) for number, event in enumerate(batch.events, seq + 1)]
        follows: dict[str, Any] = {
            "seq": seq + max(len(numbered), 1),
            "message_count": self.info.message_count + len(batch.messages),
            "updated_at": self._active_at(numbered),
        }
        for event in numbered:
            if isinstance(event, StatusChanged):
                follows["status"] = event.status
        info = msgspec.structs.replace(self.info, **follows, **changes)
        return msgspec.structs.replace(batch, events=numbered, info=info, before=self.info)

    def _active_at(self, events: Sequence[Event]) -> float:
        """To the second while a turn runs: lists are sorted by it, so the store keeps more than the number."""
        now, known = self._runtime.clock.now(), self.info.updated_at
        ends = bool(events) and isinstance(events[-1], StatusChanged) and events[-1].status in AT_REST
        running = self.turn_op is not None
        return known if running and not ends and 0 <= now - known < 1.0 else now

    def _publish(self, batch: Batch) -> None:
        """Clients hear of it before the turn goes on."""
        if batch.info is not None:
            self.info = batch.info
        if any(message.role == "assistant" for message in batch.messages):
            self.draft = None
        self._take_in(batch)
        for event in batch.events:
            self._published = event.seq  # whoever hears it may show something at once
            self._audience.publish(event)
            if isinstance(event, ToolStarted):
                for printed in self._printed_early.pop(event.call_id, ()):
                    self.show(printed)
        self._audience.flush(self._id)
        self._published = self.info.seq

    def _all_is_stored(self) -> None:
        self._told_of_outage = False
        self._on_stored()


def _ends_draft(messages: Sequence[Message], events: Sequence[Event]) -> bool:
    said = any(message.role == "assistant" for message in messages)
    return said or any(isinstance(event, TurnCompleted) for event in events)


def _numbered(event: Event, collection: int) -> Event:
    return msgspec.structs.replace(event, collection=collection) if isinstance(event, ContextCollected) else event
