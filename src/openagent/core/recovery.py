"""After a crash: what a daemon that died left open is closed, as far as it is known from the store."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from openagent.core.audit import audit_closed
from openagent.core.open_calls import Stage, closed, finished
from openagent.core.streamed_answer import joined
from openagent.plugins.store import DraftPiece, Rows, UsageRecord
from openagent.plugins.tool import Tool
from openagent.protocol.events import (
    AnyEvent,
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
from openagent.protocol.usage import SessionUsage, Usage

if TYPE_CHECKING:
    from openagent.core.session import Session

MESSAGES = 200
EVENTS = 1000
"""How far back is looked for what a turn had come to."""


async def recover_turn(session: "Session", turn: int) -> None:
    """Ends it as interrupted, with a history that every provider accepts."""
    store = session.runtime.store
    newest = await store.messages(session.id, limit=MESSAGES)
    told = await store.events(session.id, after=session.info.seq - EVENTS, limit=EVENTS)
    open_calls = _calls_without_result(newest)
    reached = _stages(open_calls, told, session.tools.by_name)
    results = [_interrupted(call, reached[call.id]) for call in open_calls]
    said, owed = _drafted(await store.draft(session.id), session.recorder.next_number, turn)
    closing = [Message(0, "tool", [result], turn=turn, created_at=time.time()) for result in results]
    first = session.recorder.next_number
    messages = [replace(each, number=number) for number, each in enumerate([*said, *closing], first)]
    session.recorder.draft_kept = True
    usage = _sum(session.info.usage, owed)
    await session.undo.interrupted(turn, [call.id for call in open_calls if reached[call.id] == "begun"])
    await session.record(
        *(PermissionResolved(ask_id=ask, decision="deny", by="turn ended") for ask in _asks_without_answer(told)),
        *(MessageAdded(message=message) for message in messages),
        *(finished(call, result) for call, result in zip(open_calls, results, strict=True)),
        *([UsageUpdated(usage=usage, last=owed[-1].usage, last_cost_usd=owed[-1].cost_usd)] if owed else []),
        _end(turn, [message for message in newest if message.turn == turn], owed),
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


def _calls_without_result(messages: Iterable[Message]) -> list[ToolCallPart]:
    """Of the newest answer; earlier ones were completed before the next request was sent."""
    waiting: dict[str, ToolCallPart] = {}
    for message in messages:
        if message.role == "assistant":
            waiting = {call.id: call for call in message.tool_calls}
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                waiting.pop(part.call_id, None)
    return list(waiting.values())


def _asks_without_answer(events: Iterable[AnyEvent]) -> list[str]:
    """Ids of permission requests that nobody has answered."""
    waiting: dict[str, None] = {}
    for event in events:
        if isinstance(event, PermissionRequested):
            waiting[event.ask.id] = None
        elif isinstance(event, PermissionResolved):
            waiting.pop(event.ask_id, None)
    return list(waiting)


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
    for event in events:
        match event:
            case MessageAdded() if event.message.role == "assistant":
                known = {}
            case PermissionRequested():
                known.setdefault(event.ask.call_id, "asked")  # one that runs may ask too: for a host, to be let write
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
            case _:
                pass
    return known
