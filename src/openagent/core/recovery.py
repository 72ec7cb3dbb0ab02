"""After a crash, and after a stop while something waited for a person.

What waited is asked again: its turn goes on with the call that asked. Everything else that was left open is closed, as
far as it is known from the store.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from openagent.core.audit import audit_closed
from openagent.core.open_calls import Stage, closed, finished
from openagent.core.streamed_answer import joined
from openagent.plugins.store import DraftPiece, Rows, UsageRecord
from openagent.plugins.tool import Tool
from openagent.protocol.events import (
    AnyEvent,
    AsksLapsed,
    MessageAdded,
    PermissionRequested,
    PermissionResolved,
    QuestionAnswered,
    QuestionAsked,
    StatusChanged,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    UsageUpdated,
)
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import LapsedAsk, PermissionAsk, Question
from openagent.protocol.usage import SessionUsage, Usage
from openagent.protocol.words import about

if TYPE_CHECKING:
    from openagent.core.session import Session

Ask: TypeAlias = PermissionAsk | Question
MESSAGES = 200
EVENTS = 1000
"""How far back is looked for what a turn had come to."""


class Waiting(NamedTuple):
    """A turn that waited for a person."""

    turn: int
    calls: Sequence[ToolCallPart]
    """Those it goes on with: what was asked about, and what has not begun."""
    messages: Sequence[Message]
    """Of the turn, as far as they are at hand."""


async def recover_turn(session: "Session", turn: int) -> Waiting | None:
    """Ends it as interrupted, with a history that every provider accepts, unless it waited for a person."""
    store = session.runtime.store
    newest = await store.messages(session.id, limit=MESSAGES)
    told = await store.events(session.id, after=session.info.seq - EVENTS, limit=EVENTS)
    for message in newest:
        session.open_calls.take_in(message)
    asks = _asks_without_answer(told)
    reached = _stages(list(session.open_calls), told, session.tools.by_name)
    own = [message for message in newest if message.turn == turn]
    if asking := await _asking(session, asks, reached):
        return Waiting(turn, await _left_waiting(session, turn, asks, reached=reached, asking=asking), own)
    await _end_interrupted(session, turn, own, asks, reached=reached)
    return None


async def _end_interrupted(
    session: "Session", turn: int, own: Sequence[Message], asks: Sequence[Ask], *, reached: Mapping[str, Stage]
) -> None:
    open_calls = list(session.open_calls)
    results = [_interrupted(call, reached[call.id]) for call in open_calls]
    said, owed = _drafted(await session.runtime.store.draft(session.id), session.recorder.next_number, turn)
    closing = [Message(0, "tool", [result], turn=turn, created_at=time.time()) for result in results]
    first = session.recorder.next_number
    messages = [replace(each, number=number) for number, each in enumerate([*said, *closing], first)]
    session.recorder.draft_kept = True
    usage = _sum(session.info.usage, owed)
    await session.undo.interrupted(turn, [call.id for call in open_calls if reached[call.id] == "begun"])
    await session.record(
        *(_no_more(ask, "turn ended") for ask in asks),
        *(MessageAdded(message=message) for message in messages),
        *(finished(call, result) for call, result in zip(open_calls, results, strict=True)),
        *([UsageUpdated(usage=usage, last=owed[-1].usage, last_cost_usd=owed[-1].cost_usd)] if owed else []),
        _end(turn, own, owed),
        StatusChanged(status="interrupted"),
        rows=Rows(
            messages=messages,
            usage=owed,
            audit=audit_closed(session.tools.by_name, zip(open_calls, results, strict=True)),
        ),
        changes={"usage": usage},
    )
    for paid in owed:
        session.runtime.ledger.book(session.id, paid.model, paid.usage, paid.cost_usd, paid.activity)


async def _asking(session: "Session", asks: Sequence[Ask], reached: Mapping[str, Stage]) -> list[str]:
    """The open calls for which somebody was asked. Empty as well where nobody would hear of the answer: a sub-agent's
    caller makes a new one, and what was to be done in a folder that is gone is not done."""
    if session.info.parent or not await asyncio.to_thread(session.workspace.is_dir):
        return []
    found: dict[str, None] = {}
    for ask in asks:
        if ask.child:
            found.update((call.id, None) for call in session.open_calls if about(call.name).kind == "agent")
        elif ask.call_id in reached:
            found[ask.call_id] = None
    return list(found)


async def _left_waiting(
    session: "Session", turn: int, asks: Sequence[Ask], *, reached: Mapping[str, Stage], asking: Sequence[str]
) -> list[ToolCallPart]:
    """What ran beside it and asked nothing is closed. Returns what is still to be made of the step."""
    calls = list(session.open_calls)
    ran = [call for call in calls if reached[call.id] in ("begun", "questioned")]
    cut_off = [call for call in ran if _takes_effect(session, call)]
    for call in cut_off:
        session.open_calls.cut_off(call.id)
    over = [call for call in cut_off if call.id not in asking]
    results = [_interrupted(call, reached[call.id]) for call in over]
    messages = [
        Message(number, "tool", [result], turn=turn, created_at=time.time())
        for number, result in enumerate(results, session.recorder.next_number)
    ]
    await session.undo.interrupted(turn, [call.id for call in cut_off])
    await session.record(
        *(_no_more(ask, "restart") for ask in asks),
        StatusChanged(status="executing_tool"),
        *(MessageAdded(message=message) for message in messages),
        *(finished(call, result) for call, result in zip(over, results, strict=True)),
        rows=Rows(messages=messages, audit=audit_closed(session.tools.by_name, zip(over, results, strict=True))),
    )
    return [call for call in calls if call not in over]


def _takes_effect(session: "Session", call: ToolCallPart) -> bool:
    """To make it twice is not the same as to make it once. Of tools that are not here yet, nothing is known."""
    tool = session.tools.by_name.get(call.name)
    return tool is None or about(call.name).kind == "agent" or tool.effect_of(call.arguments) not in ("read", "none")


def _no_more(ask: Ask, by: str) -> PermissionResolved | QuestionAnswered:
    if isinstance(ask, Question):
        return QuestionAnswered(question_id=ask.id, answer="", by=by)
    return PermissionResolved(ask_id=ask.id, decision="deny", by=by)


async def lapsed_before(session: "Session") -> dict[str, LapsedAsk]:
    """What nobody had answered in time when the session was last here."""
    told = await session.runtime.store.events(session.id, after=session.info.seq - EVENTS, limit=EVENTS)
    newest = next((event for event in reversed(told) if isinstance(event, AsksLapsed)), None)
    return {each.id: each for each in newest.lapsed} if newest is not None else {}


async def recover_calls(session: "Session") -> None:
    """A person's own calls are no part of the history: that they were cut off is known from what was told of them."""
    told = await session.runtime.store.events(session.id, after=session.info.seq - EVENTS, limit=EVENTS)
    began = {event.call_id: event for event in told if isinstance(event, ToolStarted)}
    for event in told:
        if isinstance(event, ToolFinished):
            began.pop(event.call_id, None)
    calls = [ToolCallPart(event.call_id, event.tool, event.arguments) for event in began.values()]
    cut_off = [(call, _interrupted(call, "begun")) for call in calls]
    await session.record(
        *(finished(call, result) for call, result in cut_off),
        StatusChanged(status="interrupted" if cut_off else "idle"),
        rows=Rows(audit=audit_closed(session.tools.by_name, cut_off)),
    )


def _drafted(pieces: Sequence[DraftPiece], number: int, turn: int) -> tuple[list[Message], list[UsageRecord]]:
    """The answer that was being streamed, as far as it was kept, and what is to be paid."""
    if not pieces or pieces[-1].message_number != number:
        return [], []  # left from an answer that became a message after all
    owed = pieces[-1].usage
    parts = joined(part for piece in pieces for part in piece.parts)
    if not parts or not owed:
        return [], owed
    paid = owed[-1]
    said = Message(
        number=number,
        role="assistant",
        parts=parts,
        turn=turn,
        created_at=paid.at,
        model=paid.model,
        usage=paid.usage,
        cost_usd=paid.cost_usd,
        stop_reason="interrupted",
    )
    return [said], owed


def _sum(before: SessionUsage, owed: Sequence[UsageRecord]) -> SessionUsage:
    tokens, cost_usd = before.tokens, before.cost_usd
    for paid in owed:
        tokens += paid.usage
        cost_usd += paid.cost_usd or 0.0
    unpriced = before.unpriced + sum(paid.cost_usd is None for paid in owed)
    return replace(before, tokens=tokens, cost_usd=cost_usd, requests=before.requests + len(owed), unpriced=unpriced)


def _end(turn: int, messages: Sequence[Message], owed: Sequence[UsageRecord]) -> TurnCompleted:
    answers = [message for message in messages if message.role == "assistant"]
    usage = Usage()
    for paid in (*answers, *owed):
        usage += paid.usage or Usage()
    return TurnCompleted(
        turn=turn,
        reason="interrupted",
        text=answers[-1].text if answers and answers[-1].stop_reason == "interrupted" else "",
        steps=len(answers) + bool(owed),
        usage=usage,
        cost_usd=sum(paid.cost_usd or 0.0 for paid in (*answers, *owed)),
        unpriced=sum(paid.cost_usd is None for paid in (*answers, *owed)),
        duration_ms=round((messages[-1].created_at - messages[0].created_at) * 1000, 3) if messages else 0.0,
    )


def _interrupted(call: ToolCallPart, stage: Stage) -> ToolResultPart:
    """The result of a call that a daemon left open when it died."""
    if stage == "asked":
        text = "Not run: the daemon stopped while this call waited for approval. Make it again if it is still wanted."
        return closed(call, "not_run", text, "the daemon stopped before approval")
    if stage == "waiting":
        text = "Not run: the daemon stopped before this call was begun."
        return closed(call, "not_run", text, "the daemon stopped")
    if stage == "questioned":
        text = "Interrupted: the daemon stopped before the question was answered. Ask again if it still matters."
        return closed(call, "interrupted", text, "the daemon stopped before the question was answered")
    text = "Interrupted: the daemon stopped while this call ran, so its effect is unknown. Check before repeating it."
    return closed(call, "interrupted", text, "the daemon stopped while it ran; its effect is unknown")


def _asks_without_answer(events: Iterable[AnyEvent]) -> list[Ask]:
    waiting: dict[str, Ask] = {}
    for event in events:
        match event:
            case PermissionRequested():
                waiting[event.ask.id] = event.ask
            case QuestionAsked():
                waiting[event.question.id] = event.question
            case PermissionResolved():
                waiting.pop(event.ask_id, None)
            case QuestionAnswered():
                waiting.pop(event.question_id, None)
            case _:
                pass
    return list(waiting.values())


def _stages(calls: Sequence[ToolCallPart], events: Iterable[AnyEvent], tools: Mapping[str, Tool]) -> dict[str, Stage]:
    """How far calls without a result had come when the daemon died, by what is stored of them.

    That a person was asked is stored before anything is waited for, and the answer before anything runs. That a call
    was begun may have been lost: then it counts as begun wherever it could have been.
    """
    known = _told(events)
    found: dict[str, Stage] = {}
    possible = True
    for call in calls:
        tool = tools.get(call.name)
        reads = tool is None or tool.effect_of(call.arguments) in ("read", "none")
        possible = possible and (reads or not found)  # what may write waits for those before it
        found[call.id] = known.get(call.id) or ("begun" if possible else "waiting")
        possible = possible and reads  # and those after it wait for it
    return found


def _told(events: Iterable[AnyEvent]) -> dict[str, Stage]:
    known: dict[str, Stage] = {}
    calls_of: dict[str, str] = {}
    started: set[str] = set()
    for event in events:
        match event:
            case MessageAdded() if event.message.role == "assistant":
                known, started = {}, set()
            case PermissionRequested():
                if event.ask.call_id not in started:  # one that runs may ask too: for a host, to be let write
                    known[event.ask.call_id] = "asked"
                calls_of[event.ask.id] = event.ask.call_id
            case QuestionAsked():
                known[event.question.call_id] = "questioned"
                calls_of[event.question.id] = event.question.call_id
            case PermissionResolved() if event.ask_id in calls_of and event.decision == "allow":
                known[calls_of[event.ask_id]] = "begun"
            case QuestionAnswered() if event.question_id in calls_of:
                known[calls_of[event.question_id]] = "begun"
            case ToolStarted():
                known[event.call_id] = "begun"
                started.add(event.call_id)
            case _:
                pass
    return known
