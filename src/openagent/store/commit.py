"""What sessions want stored, in one transaction."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from openagent.plugins.store import Batch, Holder
from openagent.protocol.events import Event, TurnCompleted, TurnStarted
from openagent.store import accounts, grants, leases, raw, rows, sessions, turns
from openagent.store.events import insert_events
from openagent.store.hot import Gathering
from openagent.store.messages import insert_messages


def commit(
    connection: Connection, batches: Sequence[Batch], requests: raw.RecentRequests, holder: Holder | None
) -> dict[str, raw.Remembered]:
    """Of different sessions. Returns the raw requests to remember, by session."""
    remembered: dict[str, raw.Remembered] = {}
    gathering = Gathering() if len(batches) > 1 else None
    for batch in batches:
        previous = None if batch.raw is None else requests.get(batch.session)
        if (kept := _commit_one(connection, gathering or connection, batch, previous, holder)) is not None:
            remembered[batch.session] = kept
    if gathering is not None:
        gathering.run(connection)
    return remembered


def _commit_one(
    connection: Connection,
    often: Connection | Gathering,
    batch: Batch,
    previous: raw.Remembered | None,
    holder: Holder | None,
) -> raw.Remembered | None:
    """`often` takes what is part of most batches: tables that nothing else here touches."""
    if batch.again and batch.info is not None and sessions.stored_seq(connection, batch.session) >= batch.info.seq:
        return None
    if (changed := _session_columns(batch)) and not sessions.change(connection, often, batch.session, changed, holder):
        raise leases.held_elsewhere(connection, batch.session)
    if batch.messages:
        insert_messages(often, batch.session, batch.messages)
    insert_events(often, batch.session, batch.events, batch.messages)
    turns.insert_ends(connection, batch.session, batch.events)
    if batch.drop_draft:
        turns.drop_draft(connection, batch.session)
    if batch.usage:
        accounts.insert_usage(often, batch.session, batch.usage)
    if batch.audit:
        accounts.insert_audit(often, batch.session, batch.audit)
    if batch.queued:
        sessions.enqueue(connection, batch.session, batch.queued)
    if batch.inbox is not None:
        sessions.rewrite_inbox(connection, batch.session, batch.inbox)
    if batch.unqueued:
        sessions.dequeue(connection, batch.session, batch.unqueued)
    if batch.collection is not None:
        sessions.insert_collection(connection, batch.session, batch.collection)
    if batch.begun:
        sessions.begin_work(connection, batch.session, batch.begun)
    if batch.ended:
        sessions.end_work(connection, batch.session, batch.ended)
    if batch.granted or batch.revoked:
        grants.change(connection, batch.session, batch.granted, batch.revoked)
    if batch.seen is not None:
        sessions.insert_seen(connection, batch.session, batch.seen)
    if batch.raw is None:
        return None
    return raw.insert_exchange(connection, often, batch.session, batch.raw, previous)


def import_session(connection: Connection, batch: Batch, paid_as: Sequence[str], holder: Holder | None) -> None:
    if accounts.any_usage(connection, paid_as):
        batch = msgspec.structs.replace(batch, usage=())
    assert batch.info is not None
    sessions.create(connection, batch.info, (), holder)
    _commit_one(connection, connection, batch, None, holder)


def _session_columns(batch: Batch) -> dict[str, Any]:
    """What changes in the session's own row."""
    columns: dict[str, Any] = {}
    if batch.info is not None:
        columns = rows.session_row(batch.info, batch.before)
    else:
        # Numbers that were given out must not be given out again after a restart.
        if batch.events:
            columns["seq"] = batch.events[-1].seq
        if batch.messages:
            columns["message_count"] = batch.messages[-1].number
    if batch.plan is not None:
        columns["plan"] = rows.to_json(batch.plan)
    open_turn = _open_turn_after(batch.events)
    if open_turn is not None:
        columns["open_turn"] = open_turn
    return columns


def _open_turn_after(events: Sequence[Event]) -> int | None:
    """None when the events leave it as it was."""
    for event in reversed(events):
        if isinstance(event, TurnStarted):
            return event.turn
        if isinstance(event, TurnCompleted):
            return 0
    return None
