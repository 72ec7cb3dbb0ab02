"""Messages that wait for the turn that is running, in the order in which they will be said."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from openagent.core.audit import NOBODY, Actor, acting, actor
from openagent.core.recorder import InfoChanges
from openagent.core.turn import NAME_LENGTH
from openagent.plugins.store import Rows
from openagent.protocol.conversation import Sent
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ErrorRaised, Event, MessageAdded, MessageQueued, QueueChanged
from openagent.protocol.messages import TextPart, UserPart
from openagent.protocol.sessions import QueuedMessage

if TYPE_CHECKING:
    from openagent.core.session import Session


class Inbox:
    def __init__(self, session: "Session", waiting: Sequence[QueuedMessage], *, held: bool) -> None:
        self._session = session
        self.waiting = list(waiting)
        self.held = held
        """Nothing is started until somebody says so: a person cancelled a turn and may want none of the rest."""
        self._starting: QueuedMessage | None = None
        self._envs: dict[str, Mapping[str, str]] = {}
        """Of those who sent them, by a message's id: never stored, since there are keys in it."""
        self._senders: dict[str, Actor] = {}

    @property
    def facts(self) -> InfoChanges:
        """What a session's info says of it."""
        return {"queued": len(self.waiting), "held": self.held}

    def news(self) -> list[Event]:
        """To be told by what changes it."""
        return [QueueChanged(queued=list(self.waiting), held=self.held)]

    async def send(self, parts: Sequence[UserPart], op_id: str, env: Mapping[str, str] | None = None) -> Sent:
        """A turn for it starts at once, or it waits for the one that runs. In either case it is stored when this
        returns, and answered in the sender's environment. Where messages are held back, it is said before them, and
        they follow."""
        session, was_held = self._session, self.held
        self.held = False
        try:
            if session.can_start and (was_held or not self.waiting) and session.may_begin(actor()):
                return await session.start(list(parts), op_id, env=env)
            queued = QueuedMessage(id=uuid4().hex[:12], parts=list(parts), created_at=time.time(), op_id=op_id)
            await self._queue(queued, env, first=was_held)
        except Exception:
            self.held = was_held
            raise
        await self.start_next()
        return Sent(session=session.id, queued=queued.id, place=session.runtime.admission.place(session.id))

    async def sent_before(self, op_id: str) -> Sent | None:
        """What became of a message that came with this op, if one did."""
        session = self._session
        for event in await session.recorder.outbox.messages_of(op_id):
            if isinstance(event, MessageAdded):
                return Sent(session=session.id, turn=event.message.turn, message_number=event.message.number)
            return Sent(session=session.id, queued=event.queued.id)
        return None

    async def add(self, parts: Sequence[UserPart]) -> Sent:
        """As `send`, from the daemon itself: nothing that a person holds back goes on because of it."""
        if not self.held:
            return await self.send(parts, "")
        queued = QueuedMessage(id=uuid4().hex[:12], parts=list(parts), created_at=time.time())
        await self._queue(queued, None, first=False)
        return Sent(session=self._session.id, queued=queued.id)

    @property
    def goes_on(self) -> bool:
        """Another turn follows the one that runs."""
        return bool(self.waiting) and not self.held

    async def _queue(self, queued: QueuedMessage, env: Mapping[str, str] | None, *, first: bool) -> None:
        self._senders[queued.id] = actor()
        if env:
            self._envs[queued.id] = env
        self.waiting.insert(0 if first else len(self.waiting), queued)
        try:
            if first:
                await self._rewrite(queued.op_id, self._queued(queued))
            else:
                changes: InfoChanges = {**self.facts, **self._name_by(queued)}
                told = self._queued(queued), *self._session.listed_anew(changes, env or self._session.env)
                await self._session.record(*told, rows=Rows(queued=[queued]), changes=changes, op_id=queued.op_id)
        except Exception:
            self.waiting.remove(queued)
            self._forget(queued.id)
            raise

    def _name_by(self, queued: QueuedMessage) -> InfoChanges:
        """One that waits for its first turn is found in lists by what was asked."""
        said = " ".join(part.text for part in queued.parts if isinstance(part, TextPart)).split()
        return {"name": " ".join(said)[:NAME_LENGTH]} if said and not self._session.info.name else {}

    def _queued(self, queued: QueuedMessage) -> MessageQueued:
        in_line = bool(self._session.runtime.admission.place(self._session.id))
        return MessageQueued(queued=queued, in_line=in_line)

    def _forget(self, queued: str) -> None:
        self._envs.pop(queued, None)
        self._senders.pop(queued, None)

    async def start_next(self) -> None:
        """The turn for the message that waits longest, if nothing is in its way."""
        session = self._session
        if session.running:
            return
        if not self.waiting or self.held or not session.can_start:
            session.runtime.admission.leave(session.id)
            return
        if not session.may_begin(self._senders.get(self.waiting[0].id, NOBODY)):
            return
        first = self._starting = self.waiting.pop(0)
        try:
            with acting(self._senders.get(first.id, NOBODY)):
                await session.start(first.parts, first.op_id, unqueued=[first.id], env=self._envs.get(first.id))
        except BaseException as problem:
            self.waiting.insert(0, first)
            if isinstance(problem, OpenAgentError) and problem.info.code != "store_unavailable":
                # It would fail again and again, and hold up the others without a word.
                self.held = True
                session.post(ErrorRaised(error=problem.info), *self.news())
            raise
        finally:
            self._starting = None
        self._forget(first.id)

    # What people do about it

    def hold(self) -> bool:
        """At once. Returns whether there is anything to hold back; `tell` it then."""
        self.held = bool(self.waiting)
        return self.held

    async def tell(self) -> None:
        await self._session.record(*self.news(), changes=self.facts)

    async def go_on(self, op_id: str) -> None:
        if self.held:
            self.held = False
            await self._session.record(*self.news(), op_id=op_id, changes=self.facts)
        await self.start_next()

    async def edit(self, queued: str, parts: Sequence[UserPart], op_id: str) -> None:
        place = self._find(queued)
        self.waiting[place] = msgspec.structs.replace(self.waiting[place], parts=list(parts))
        await self._rewrite(op_id)

    async def remove(self, queued: str, op_id: str) -> None:
        del self.waiting[self._find(queued)]
        self._forget(queued)
        self.held = self.held and bool(self.waiting)
        await self._rewrite(op_id)

    async def move(self, queued: str, position: int, op_id: str) -> None:
        """1 is next. A number beyond the end is the end."""
        message = self.waiting.pop(self._find(queued))
        self.waiting.insert(max(position, 1) - 1, message)
        await self._rewrite(op_id)

    def _find(self, queued: str) -> int:
        for place, message in enumerate(self.waiting):
            if message.id == queued:
                return place
        raise OpenAgentError(
            "not_found",
            f"No message {queued!r} waits here: it was said or removed meanwhile.",
            hint=f"`openagent sessions queue {self._session.id}` lists those that wait.",
        )

    async def _rewrite(self, op_id: str, *told: Event) -> None:
        starting = [self._starting] if self._starting else []  # until its turn is stored, it is still in the queue
        inbox = [*starting, *self.waiting]
        await self._session.record(*told, *self.news(), rows=Rows(inbox=inbox), changes=self.facts, op_id=op_id)
