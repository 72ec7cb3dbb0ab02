"""Queries over events. A message that an event announces is kept once, as a message."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, and_, bindparam, insert, select

from openagent.plugins.store import FailureRecord
from openagent.protocol.codec import decode_event
from openagent.protocol.events import AnyEvent, ErrorRaised, Event, MessageAdded, MessageQueued, RetryScheduled
from openagent.protocol.messages import Message
from openagent.store import rows
from openagent.store.hot import Gathering, HotStatement
from openagent.store.tables import events, messages, sessions


class _Announcement(msgspec.Struct, omit_defaults=True):
    """What a MessageAdded tells beside its message."""

    op_id: str = ""
    at: float = 0.0


_FAILURES = [kind.__struct_config__.tag for kind in (ErrorRaised, RetryScheduled)]
_MESSAGES = [kind.__struct_config__.tag for kind in (MessageAdded, MessageQueued)]
_announcement_decoder = msgspec.json.Decoder(_Announcement)
_insert_events = HotStatement(insert(events))
_announced = and_(messages.c.session_id == events.c.session_id, messages.c.number == events.c.message_number)
_events_after = (
    select(events.c.seq, events.c.message_number.label("announced"), events.c.payload, messages)
    .select_from(events.outerjoin(messages, _announced))
    .where(events.c.session_id == bindparam("session"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("count"))
)


def insert_events(
    into: Connection | Gathering, session: str, new: Sequence[Event], messages: Sequence[Message]
) -> None:
    """`messages` are those stored in the same transaction."""
    if not new:
        return
    stored = {message.number: message for message in messages}
    _insert_events.run(into, [_event_row(session, event, stored) for event in new])


def _event_row(session: str, event: Event, stored: dict[int, Message]) -> dict[str, Any]:
    number, payload = None, event
    if isinstance(event, MessageAdded) and stored.get(event.message.number) == event.message:
        number, payload = event.message.number, _Announcement(op_id=event.op_id, at=event.at)
    return {
        "session_id": session,
        "seq": event.seq,
        "type": event.__struct_config__.tag,
        "message_number": number,
        "payload": rows.to_json(payload),
    }


def after(connection: Connection, session: str, seq: int, limit: int) -> list[AnyEvent]:
    found = connection.execute(_events_after, {"session": session, "after": seq, "count": limit})
    return [_event(session, row) for row in found.mappings()]


def of_messages(connection: Connection, session: str, op_id: str) -> list[AnyEvent]:
    """Seldom asked, so there is no index for it: the session's own messages are looked through."""
    found = connection.execute(
        select(events.c.seq, events.c.message_number.label("announced"), events.c.payload, messages)
        .select_from(events.outerjoin(messages, _announced))
        .where(
            events.c.session_id == session,
            events.c.type.in_(_MESSAGES),
            events.c.payload.contains(op_id, autoescape=True),
        )
        .order_by(events.c.seq)
    )
    told = [_event(session, row) for row in found.mappings()]
    return [event for event in told if event.op_id == op_id]


def failures(connection: Connection, since: float, until: float | None) -> list[FailureRecord]:
    """Errors, and what was tried again. Sessions that were still since then need not be looked through."""
    found = connection.execute(
        select(events.c.session_id, events.c.payload)
        .join(sessions, sessions.c.id == events.c.session_id)
        .where(events.c.type.in_(_FAILURES), sessions.c.updated_at >= since)
    )
    told = [(session, decode_event(payload)) for session, payload in found]
    records = [
        FailureRecord(session, event.at, event.error.code, was_retried=isinstance(event, RetryScheduled))
        for session, event in told
        if isinstance(event, ErrorRaised | RetryScheduled)
        if event.at >= since and (until is None or event.at < until)
    ]
    return sorted(records, key=lambda record: record.at)


def _event(session: str, row: RowMapping) -> AnyEvent:
    if row["announced"] is None:
        return decode_event(row["payload"])
    rest = _announcement_decoder.decode(row["payload"])
    return MessageAdded(session=session, seq=row["seq"], op_id=rest.op_id, at=rest.at, message=rows.message(row))
