"""A conversation that was had elsewhere, as a session's rows."""

import msgspec

from openagent.core.view_log import REWIND
from openagent.plugins.store import Batch, CollectionRecord, UsageRecord
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import Event, SessionCreated, TurnCompleted, TurnStarted
from openagent.protocol.messages import Message, ToolResultPart
from openagent.protocol.sessions import EndedTurn, SessionImport, SessionInfo
from openagent.protocol.usage import SessionUsage, Usage


def check_conversation(op: SessionImport) -> None:
    """Raises for what no session could have said."""
    if not op.messages:
        raise OpenAgentError("invalid_argument", "There are no messages to import.")
    turn = 1
    for number, message in enumerate(op.messages, 1):
        if message.number != number:
            told = f"Message {number} has the number {message.number}."
            raise OpenAgentError("invalid_argument", told, hint="Number them from 1, without a gap.")
        if message.turn < turn:
            told = f"Message {number} belongs to turn {message.turn}, after one of turn {turn}."
            raise OpenAgentError("invalid_argument", told, hint="Number turns from 1, in the order of the messages.")
        turn = message.turn
    if wrong := [each for each in op.rewound if not 1 <= each[0] <= each[1] <= len(op.messages)]:
        raise OpenAgentError("invalid_argument", f"There are no messages {wrong[0][0]} to {wrong[0][1]} to take back.")


def imported(op: SessionImport, info: SessionInfo, created: SessionCreated) -> Batch:
    """Dates, tokens and money are those of then. A step that never got its results ends as after a crash."""
    ends = {end.turn: end for end in op.turns if 1 <= end.turn <= op.messages[-1].turn}
    is_open = _has_open_calls(op.messages)
    if is_open:
        ends.pop(op.messages[-1].turn, None)
    events: list[Event] = [created, *(_completed(info.id, end) for _, end in sorted(ends.items()))]
    if is_open:
        last = op.messages[-1]
        events.append(TurnStarted(session=info.id, at=last.created_at, turn=last.turn))
    info = msgspec.structs.replace(
        info,
        message_count=len(op.messages),
        turn_count=op.messages[-1].turn,
        usage=op.usage or _sum(op.messages),
        seq=len(events),
    )
    return Batch(
        session=info.id,
        info=info,
        events=[
            msgspec.structs.replace(created, info=info),
            *(msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events[1:], 2)),
        ],
        messages=op.messages,
        usage=[
            UsageRecord(
                each.number,
                each.model or "",
                each.usage,
                each.cost_usd,
                "imported",
                each.created_at,
                owner=info.owner,
            )
            for each in op.messages
            if each.usage is not None
        ],
        collection=CollectionRecord(hidden=op.rewound, collector=REWIND) if op.rewound else None,
    )


def _has_open_calls(messages: list[Message]) -> bool:
    """At the end: whatever was called before has its results."""
    last = next((number for number, each in enumerate(messages) if each.turn == messages[-1].turn), 0)
    called = {call.id for message in messages[last:] for call in message.tool_calls}
    answered = {part.call_id for each in messages[last:] for part in each.parts if isinstance(part, ToolResultPart)}
    return not called <= answered


def _completed(session: str, end: EndedTurn) -> TurnCompleted:
    return TurnCompleted(
        session=session,
        at=end.ended_at,
        turn=end.turn,
        reason=end.reason,
        steps=end.steps,
        usage=end.usage,
        cost_usd=end.cost_usd,
        duration_ms=end.duration_ms,
        by=end.by,
        error=end.error,
    )


def _sum(messages: list[Message]) -> SessionUsage:
    paid = [each for each in messages if each.usage is not None]
    tokens = sum((each.usage for each in paid if each.usage is not None), Usage())
    unpriced = sum(each.cost_usd is None for each in paid)
    return SessionUsage(tokens, sum(each.cost_usd or 0.0 for each in paid), len(paid), unpriced=unpriced)
