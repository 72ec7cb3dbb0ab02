"""Sessions as another agent uses them: send a message, see what comes of it, answer what is asked meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from openagent.gateway.jsonrpc import Link
from openagent.protocol import events as e
from openagent.protocol.conversation import (
    MessageSend,
    MessagesPage,
    PermissionAnswer,
    QuestionAnswer,
    TurnCancel,
)
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.messages import Message, TextPart, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import (
    AT_REST,
    Attached,
    EndedTurn,
    PermissionAsk,
    Question,
    SessionAttach,
    SessionCreate,
    SessionGet,
    SessionInfo,
    SessionList,
    SettingsChange,
    Snapshot,
)
from openagent.protocol.words import in_words, turn_ended

PAGE = 200
_RESULT_SHOWN = 2000


class Awaited(Struct, frozen=True):
    """A message that was sent, or the turn that came of it."""

    session: str
    op_id: str = ""
    turn: int = 0

    def ends_with(self, event: e.TurnCompleted) -> bool:
        if not self.op_id and not self.turn:
            return True
        return bool(self.op_id and event.op_id == self.op_id) or bool(self.turn and event.turn == self.turn)


Ask = PermissionAsk | Question


@dataclass
class _Followed:
    seq: int
    open: dict[str, Ask] = field(default_factory=dict[str, Ask])
    listeners: "set[asyncio.Queue[e.AnyEvent]]" = field(default_factory=set["asyncio.Queue[e.AnyEvent]"])
    running: bool = False
    ended: e.TurnCompleted | None = None
    """How the last turn ended that was seen."""


class Sessions:
    def __init__(self, link: Link) -> None:
        self.name = "mcp"
        self._link = link
        self._followed: dict[str, _Followed] = {}

    async def start(self, cwd: str, name: str, settings: SettingsChange) -> SessionInfo:
        op = SessionCreate(id=self._link.next_id(), cwd=cwd, name=name, settings=settings)
        return await self._link.request(op)

    async def list(self, cwd: str = "", limit: int = PAGE) -> "list[SessionInfo]":
        op = SessionList(id=self._link.next_id(), cwd=cwd, limit=limit)
        return (await self._link.request(op)).sessions

    async def info(self, session: str) -> SessionInfo:
        return await self._link.request(SessionGet(id=self._link.next_id(), session=session))

    async def cancel(self, session: str) -> bool:
        op = TurnCancel(id=self._link.next_id(), session=session)
        return (await self._link.request(op)).was_running

    async def answer(self, session: str, ask: Ask, answer: str) -> None:
        """Raises when it is too late."""
        await self._answer(session, ask, answer)
        (await self._follow(session)).open.pop(ask.id, None)

    async def _answer(self, session: str, ask: Ask, answer: str) -> None:
        """A permission is allowed once by `allow` and denied by everything else."""
        if isinstance(ask, Question):
            told = QuestionAnswer(id=self._link.next_id(), session=session, question=ask.id, answer=answer)
            await self._link.request(told)
            return
        decision: Literal["allow", "deny"] = "allow" if answer == "allow" else "deny"
        op = PermissionAnswer(id=self._link.next_id(), session=session, ask=ask.id, decision=decision)
        await self._link.request(op)

    async def open_asks(self, session: str) -> "list[Ask]":
        return list((await self._follow(session)).open.values())

    async def find_ask(self, session: str, ask: str) -> Ask:
        found = (await self._follow(session)).open.get(ask)
        if found is None:
            raise OpenAgentError(
                "not_found", f"Nothing with the id {ask!r} waits for an answer.", hint="read_session lists what does."
            )
        return found

    async def send(self, session: str, text: str, *, caller: str = "") -> AsyncGenerator[e.AnyEvent | Awaited, None]:
        """First what is awaited, then everything that happens until it has ended. `caller` is the part of a trace that
        the turn belongs to."""
        followed = await self._follow(session)
        with self._listening(followed) as queue:
            op_id = self._link.next_id()
            op = MessageSend(id=f"{caller}.{op_id}" if caller else op_id, session=session, text=text)
            sent = await self._link.request(op)
            awaited = Awaited(session, op.id, sent.turn)
            yield awaited
            async for event in self._until_ended(queue, awaited):
                yield event

    async def answer_and_wait(
        self, awaited: Awaited, answers: "list[tuple[Ask, str]]"
    ) -> AsyncGenerator[e.AnyEvent, None]:
        """What happens until the turn has ended; what is still asked comes first. Nothing when none runs."""
        followed = await self._follow(awaited.session)
        with self._listening(followed) as queue:
            for ask, answer in answers:
                await self._answer(awaited.session, ask, answer)
                followed.open.pop(ask.id, None)
            if not followed.running and queue.empty():
                if followed.ended is not None and awaited.ends_with(followed.ended):
                    yield followed.ended
                return
            for ask in list(followed.open.values()):
                yield _asked(awaited.session, ask)
            async for event in self._until_ended(queue, awaited):
                yield event

    async def messages(self, session: str, last: int) -> "tuple[list[Message], dict[int, EndedTurn]]":
        """The newest ones, oldest first, and how their turns ended."""
        found: list[Message] = []
        ends: dict[int, EndedTurn] = {}
        before: int | None = None
        while len(found) < last:
            op = MessagesPage(
                id=self._link.next_id(), session=session, before=before, limit=min(PAGE, last - len(found))
            )
            page = await self._link.request(op)
            found = [*page.messages, *found]
            ends |= {end.turn: end for end in page.turns}
            if not page.has_more or not page.messages:
                break
            before = page.messages[0].number
        return found, ends

    async def changes(self, session: str) -> AsyncGenerator[None, None]:
        """Once for each message, and each turn that ends, from now on until the session is deleted."""
        identity = (await self.info(session)).id
        followed = await self._follow(identity)

        async def told() -> AsyncGenerator[None, None]:
            with self._listening(followed) as queue:
                while not isinstance(event := await queue.get(), e.SessionDeleted):
                    if isinstance(event, e.MessageAdded | e.TurnCompleted):
                        yield

        return told()

    async def _until_ended(
        self, queue: "asyncio.Queue[e.AnyEvent]", awaited: Awaited
    ) -> AsyncGenerator[e.AnyEvent, None]:
        while True:
            event = await queue.get()
            yield event
            if isinstance(event, e.SessionDeleted) or (isinstance(event, e.TurnCompleted) and awaited.ends_with(event)):
                return

    @contextmanager
    def _listening(self, followed: _Followed) -> "Generator[asyncio.Queue[e.AnyEvent], None, None]":
        queue: asyncio.Queue[e.AnyEvent] = asyncio.Queue()
        followed.listeners.add(queue)
        try:
            yield queue
        finally:
            followed.listeners.discard(queue)

    async def _follow(self, session: str) -> _Followed:
        followed = self._followed.get(session)
        if followed is None:
            followed = self._followed[session] = _Followed(0)
            try:
                op = SessionAttach(id=self._link.next_id(), session=session, messages=1)
                attached = await self._link.request(op)
            except BaseException:
                del self._followed[session]
                raise
            followed.seq = attached.seq
            if attached.snapshot:
                _learn(followed, attached.snapshot)
        return followed

    # Events

    def show(self, event: e.AnyEvent) -> None:
        followed = self._followed.get(event.session)
        if followed is None or (type(event).durable and event.seq <= followed.seq):
            return
        if type(event).durable:
            followed.seq = event.seq
        match event:
            case e.PermissionRequested():
                followed.open[event.ask.id] = event.ask
            case e.QuestionAsked():
                followed.open[event.question.id] = event.question
            case e.PermissionResolved():
                followed.open.pop(event.ask_id, None)
            case e.QuestionAnswered():
                followed.open.pop(event.question_id, None)
            case e.TurnStarted():
                followed.running = True
            case e.TurnCompleted():
                followed.running, followed.ended = False, event
                followed.open.clear()
            case e.SessionDeleted():
                del self._followed[event.session]
            case _:
                pass
        for queue in followed.listeners:
            queue.put_nowait(event)

    def attachments(self) -> "list[SessionAttach]":
        return [
            SessionAttach(id=self._link.next_id(), session=session, after=followed.seq, messages=1)
            for session, followed in self._followed.items()
        ]

    def attached_again(self, attached: Attached) -> None:
        followed = self._followed.get(attached.session)
        if followed is None or attached.snapshot is None:
            return
        followed.seq = attached.seq
        was_running = followed.running
        _learn(followed, attached.snapshot)
        if was_running and not followed.running:
            ended = e.TurnCompleted(
                session=attached.session, turn=attached.snapshot.info.turn_count, reason="interrupted"
            )
            for queue in followed.listeners:
                queue.put_nowait(ended)

    def gone(self, session: str) -> None:
        if followed := self._followed.pop(session, None):
            for queue in followed.listeners:
                queue.put_nowait(e.SessionDeleted(session=session))


def _learn(followed: _Followed, snapshot: Snapshot) -> None:
    followed.running = snapshot.info.status not in AT_REST
    followed.open = {ask.id: ask for ask in (*snapshot.permissions, *snapshot.questions)}


def _asked(session: str, ask: Ask) -> e.AnyEvent:
    if isinstance(ask, Question):
        return e.QuestionAsked(session=session, question=ask)
    return e.PermissionRequested(session=session, ask=ask)


def told_end(end: EndedTurn) -> str:
    error = end.error or ErrorInfo("internal", "")
    return " ".join(turn_ended(end.reason, by=end.by, message=error.message, hint=error.hint)).rstrip()


def transcript(info: SessionInfo, messages: "list[Message]", ends: Mapping[int, EndedTurn]) -> str:
    about = (info.id, info.cwd, f"{info.settings.mode} mode", in_words(info.status))
    lines = [f"# {info.name or 'Unnamed'}", " · ".join(about)]
    for place, message in enumerate(messages, 1):
        following = messages[place] if place < len(messages) else None
        for part in message.parts:
            match part:
                case TextPart():
                    lines.append(f"\n## {message.role}\n\n{part.text}")
                case ToolCallPart():
                    lines.append(f"\n**{part.name}** `{part.arguments}`"[:_RESULT_SHOWN])
                case ToolResultPart():
                    ended = (
                        "" if part.ended == "done" else f"\n{part.ended.replace('_', ' ')}: {part.reason}".rstrip(": ")
                    )
                    lines.append(f"{ended}\n```\n{part.text[:_RESULT_SHOWN]}\n```")
                case _:
                    pass
        end = ends.get(message.turn) if following is None or following.turn != message.turn else None
        if end is not None and end.reason != "done":
            lines.append(f"\n**{told_end(end)}**")
    return "\n".join(lines) + "\n"
