"""Queries over sessions and their inboxes."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    update,
)

from openagent.plugins.store import (
    BackgroundWork,
    CollectionRecord,
    FileSeen,
    Holder,
    SeenRecord,
    SessionCount,
    StoredSession,
)
from openagent.plugins.tenant import Tenant
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import Event
from openagent.protocol.sessions import QueuedMessage, SessionInfo
from openagent.protocol.usage import SessionUsage
from openagent.store import grants, rows
from openagent.store.events import insert_events
from openagent.store.hot import Gathering, HotStatement
from openagent.store.tables import background, collections, files_seen, inbox, messages, raw_exchanges, sessions, turns
from openagent.store.tenancy import of_tenant

PREFIX_LENGTH = 6
"""An id may be shortened to this many characters."""
_AFTER_EVERY_CHARACTER = "\U0010ffff"
_MATCHES_SHOWN = 5
_NO_PLAN = "[]"
_NUMBER_LIMIT = 2**31 - 1

_insert_session = insert(sessions)
_update_session = HotStatement(update(sessions).where(sessions.c.id == bindparam("session")))
_update_own_session = HotStatement(
    update(sessions).where(sessions.c.id == bindparam("session"), sessions.c.daemon == bindparam("holder"))
)
_one_session = select(sessions).where(sessions.c.id == bindparam("session"))
_seq_of = select(sessions.c.seq).where(sessions.c.id == bindparam("session")).with_for_update()
"""Waits for a transaction of the same session whose end nobody has heard of."""
_sessions_beginning_with = (
    select(sessions)
    .where(sessions.c.id >= bindparam("first"), sessions.c.id < bindparam("last"))
    .order_by(sessions.c.id)
    .limit(_MATCHES_SHOWN + 1)
)
_first = select(sessions.c.id).where(sessions.c.parent == bindparam("session")).cte(recursive=True)
_below = _first.union(select(sessions.c.id).join(_first, sessions.c.parent == _first.c.id))
"""Every session that works for one, at any depth."""
_used_below = select(sessions.c.usage).join(_below, sessions.c.id == _below.c.id)
_sessions_below = select(sessions).join(_below, sessions.c.id == _below.c.id)
_first_of = (
    select(sessions.c.parent.label("root"), sessions.c.id)
    .where(sessions.c.parent.in_(bindparam("roots", expanding=True)))
    .cte(recursive=True)
)
_below_each = _first_of.union(
    select(_first_of.c.root, sessions.c.id).join(_first_of, sessions.c.parent == _first_of.c.id)
)
_used_below_each = select(_below_each.c.root, sessions.c.usage).join(_below_each, sessions.c.id == _below_each.c.id)
_only_brought = and_(sessions.c.brought > 0, sessions.c.brought >= sessions.c.message_count)
"""Whatever was said here after them makes it a session like any other."""
_insert_queued = HotStatement(insert(inbox))
_delete_queued = HotStatement(
    delete(inbox).where(inbox.c.session_id == bindparam("session"), inbox.c.id == bindparam("queued"))
)
_queued_of = select(inbox.c.message).where(inbox.c.session_id == bindparam("session")).order_by(inbox.c.position)
_insert_collection = insert(collections)
_collections_of = (
    select(collections.c.record).where(collections.c.session_id == bindparam("session")).order_by(collections.c.id)
)
_insert_work = HotStatement(insert(background))
_delete_work = HotStatement(
    delete(background).where(background.c.session_id == bindparam("session"), background.c.id == bindparam("work"))
)
_work_of = select(background.c.work).where(background.c.session_id == bindparam("session")).order_by(background.c.id)
_work_decoder = msgspec.json.Decoder(BackgroundWork)
_insert_seen = HotStatement(insert(files_seen))
_seen_of = (
    select(files_seen.c.message_number, files_seen.c.files)
    .where(files_seen.c.session_id == bindparam("session"))
    .order_by(files_seen.c.message_number)
)
_seen_decoder = msgspec.json.Decoder(list[FileSeen])
_queued_decoder = msgspec.json.Decoder(QueuedMessage)
_collection_decoder = msgspec.json.Decoder(CollectionRecord)


def create(connection: Connection, info: SessionInfo, events: Sequence[Event], holder: Holder | None) -> None:
    _refuse_taken_id(connection, info.id)
    _insert(connection, info, holder, plan=_NO_PLAN)
    insert_events(connection, info.id, events, messages=())


def _refuse_taken_id(connection: Connection, session: str) -> None:
    if connection.execute(_one_session, {"session": session}).first() is not None:
        raise OpenAgentError(
            "conflict", f"There is already a session {session}.", hint="Choose another id, or attach to that session."
        )


def _insert(connection: Connection, info: SessionInfo, holder: Holder | None, plan: str | ScalarSelect[str]) -> None:
    statement = _insert_session if isinstance(plan, str) else _insert_session.values(plan=plan)
    row = {"id": info.id, **rows.session_row(info), "open_turn": 0, "daemon": holder and holder.id}
    connection.execute(statement, {**row, "plan": plan} if isinstance(plan, str) else row)


def change(
    connection: Connection, into: Connection | Gathering, session: str, values: dict[str, Any], holder: Holder | None
) -> bool:
    """Only the columns that are given. False: there is such a session, and the holder does not have it."""
    if holder is None:
        changed = _update_session.run(into, [{"session": session, **values}])
    else:
        changed = _update_own_session.run(into, [{"session": session, "holder": holder.id, **values}])
    if not changed and connection.execute(_one_session, {"session": session}).first() is None:
        raise _not_found(session)
    return bool(changed)


def stored_seq(connection: Connection, session: str) -> int:
    return connection.execute(_seq_of, {"session": session}).scalar() or 0


def one(connection: Connection, session: str) -> StoredSession:
    row = connection.execute(_one_session, {"session": session}).mappings().first()
    if row is None:
        row = _only_match(connection, session)
    queued = connection.execute(_queued_of, {"session": row["id"]}).scalars()
    below = connection.execute(_used_below, {"session": row["id"]}).scalars()
    work = connection.execute(_work_of, {"session": row["id"]}).scalars()
    return StoredSession(
        info=rows.session_info(row),
        open_turn=row["open_turn"],
        plan=rows.plan_items(row["plan"]),
        queued=[_queued_decoder.decode(message) for message in queued],
        background=sorted((_work_decoder.decode(each) for each in work), key=lambda each: each.at),
        grants=grants.of_session(connection, row["id"]),
        below=rows.sum_of_usage(below),
    )


def _only_match(connection: Connection, beginning: str) -> Any:
    if len(beginning) < PREFIX_LENGTH:
        raise _not_found(beginning)
    bounds = {"first": beginning, "last": beginning + _AFTER_EVERY_CHARACTER}
    found = connection.execute(_sessions_beginning_with, bounds).mappings().all()
    if not found:
        raise _not_found(beginning)
    if len(found) > 1:
        listed = ", ".join(f"{row['id']} ({row['name']})" for row in found[:_MATCHES_SHOWN])
        more = " and others" if len(found) > _MATCHES_SHOWN else ""
        raise OpenAgentError(
            "conflict",
            f"Several sessions begin with {beginning}: {listed}{more}.",
            hint="Give more characters of the id.",
        )
    return found[0]


def _not_found(session: str) -> OpenAgentError:
    return OpenAgentError(
        "not_found", f"There is no session {session!r}.", hint="`openagent sessions` lists the ones there are."
    )


def page(
    connection: Connection,
    limit: int,
    before: float | None,
    *,
    before_id: str,
    cwd: str,
    query: str,
    roots: bool,
    archived: bool | None,
    brought: bool | None = None,
    agent: str = "",
    within: Tenant | None,
) -> list[SessionInfo]:
    statement = select(sessions).order_by(sessions.c.updated_at.desc(), sessions.c.id.desc()).limit(limit)
    if before is not None:
        same_time = and_(sessions.c.updated_at == before, sessions.c.id < before_id)
        statement = statement.where(or_(sessions.c.updated_at < before, same_time))
    if cwd:
        statement = statement.where(sessions.c.cwd == cwd)
    if roots:
        statement = statement.where(sessions.c.parent.is_(None))
    if archived is not None:
        statement = statement.where(sessions.c.archived == archived)
    if brought is not None:
        statement = statement.where(_only_brought if brought else not_(_only_brought))
    if agent:
        statement = statement.where(sessions.c.agent == agent)
    if within is not None:
        statement = statement.where(of_tenant(within))
    if query:
        statement = statement.where(sessions.c.name.icontains(query, autoescape=True))
    return [rows.session_info(row) for row in connection.execute(statement).mappings()]


def brought(connection: Connection, cwd: str, within: Tenant | None) -> dict[str, int]:
    roots = and_(_only_brought, sessions.c.parent.is_(None), not_(sessions.c.archived))
    statement = select(sessions.c.agent, func.count()).where(roots).group_by(sessions.c.agent)
    if cwd:
        statement = statement.where(sessions.c.cwd == cwd)
    if within is not None:
        statement = statement.where(of_tenant(within))
    return {row[0]: row[1] for row in connection.execute(statement)}


def below(connection: Connection, session: str) -> list[SessionInfo]:
    statement = _sessions_below.order_by(sessions.c.created_at, sessions.c.id)
    return [rows.session_info(row) for row in connection.execute(statement, {"session": session}).mappings()]


def used_below(connection: Connection, roots: Sequence[str]) -> dict[str, SessionUsage]:
    found: dict[str, list[str]] = {}
    for root, usage in connection.execute(_used_below_each, {"roots": list(roots)}):
        found.setdefault(root, []).append(usage)
    return {root: rows.sum_of_usage(usages) for root, usages in found.items()}


def counts(connection: Connection, within: Tenant | None) -> list[SessionCount]:
    columns = (sessions.c.id, sessions.c.message_count, sessions.c.brought, sessions.c.updated_at)
    statement = select(*columns).order_by(sessions.c.updated_at)
    if within is not None:
        statement = statement.where(of_tenant(within))
    return [SessionCount(*row) for row in connection.execute(statement)]


def names(connection: Connection, wanted: Sequence[str]) -> dict[str, str]:
    found = connection.execute(select(sessions.c.id, sessions.c.name).where(sessions.c.id.in_(wanted)))
    return {row.id: row.name for row in found}


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(sessions)).scalar_one()


def unfinished(connection: Connection, free: ColumnElement[bool]) -> list[str]:
    return list(connection.execute(select(sessions.c.id).where(sessions.c.open_turn > 0, free)).scalars())


def remove(connection: Connection, session: str) -> None:
    if connection.execute(delete(sessions).where(sessions.c.id == session)).rowcount == 0:
        raise _not_found(session)


def fork(connection: Connection, source: str, info: SessionInfo, through: int | None, events: Sequence[Event]) -> None:
    if connection.execute(_one_session, {"session": source}).first() is None:
        raise _not_found(source)
    _refuse_taken_id(connection, info.id)
    # A shortened fork stands at an earlier point, where the newest plan did not exist yet.
    whole = select(sessions.c.plan).where(sessions.c.id == source).scalar_subquery()
    _insert(connection, info, None, plan=whole if through is None else _NO_PLAN)
    last = _NUMBER_LIMIT if through is None else through
    left_out = select(func.min(messages.c.turn)).where(messages.c.session_id == source, messages.c.number > last)
    for table, within in (
        (messages, messages.c.number <= last),
        (raw_exchanges, raw_exchanges.c.message_number <= last),
        (collections, collections.c.last_message <= last),
        (files_seen, files_seen.c.message_number <= last),
        # A turn of which something is left out has not ended there.
        (turns, turns.c.turn < func.coalesce(left_out.scalar_subquery(), _NUMBER_LIMIT)),
    ):
        columns = [literal(info.id) if column.name == "session_id" else column for column in table.c]
        kept = select(*columns).where(table.c.session_id == source, within)
        connection.execute(insert(table).from_select([column.name for column in table.c], kept))
    insert_events(connection, info.id, events, messages=())


def enqueue(connection: Connection, session: str, queued: Sequence[QueuedMessage]) -> None:
    new = [{"session_id": session, "id": item.id, "message": rows.to_json(item)} for item in queued]
    _insert_queued.run(connection, new)


def dequeue(connection: Connection, session: str, queued: Sequence[str]) -> None:
    _delete_queued.run(connection, [{"session": session, "queued": item} for item in queued])


def rewrite_inbox(connection: Connection, session: str, queued: Sequence[QueuedMessage]) -> None:
    connection.execute(delete(inbox).where(inbox.c.session_id == session))
    if queued:
        enqueue(connection, session, queued)


def with_messages_waiting(connection: Connection, free: ColumnElement[bool]) -> list[str]:
    waiting = select(inbox.c.session_id).distinct().join(sessions, sessions.c.id == inbox.c.session_id)
    return list(connection.execute(waiting.where(sessions.c.held.is_(False), free)).scalars())


def count_queued(connection: Connection) -> int:
    return connection.execute(select(func.count(inbox.c.session_id))).scalar_one()


def insert_collection(connection: Connection, session: str, record: CollectionRecord) -> None:
    last_message = max(
        [end for _, end in record.hidden] + [*record.replaced, *record.pinned, *record.unpinned], default=0
    )
    row = {"session_id": session, "id": record.id, "last_message": last_message, "record": rows.to_json(record)}
    connection.execute(_insert_collection, row)


def collections_of(connection: Connection, session: str) -> list[CollectionRecord]:
    found = connection.execute(_collections_of, {"session": session}).scalars()
    return [_collection_decoder.decode(record) for record in found]


def insert_seen(connection: Connection, session: str, record: SeenRecord) -> None:
    row = {"session_id": session, "message_number": record.number, "files": rows.to_json(record.files)}
    _insert_seen.run(connection, [row])


def seen_of(connection: Connection, session: str) -> list[SeenRecord]:
    found = connection.execute(_seen_of, {"session": session})
    return [SeenRecord(row.message_number, _seen_decoder.decode(row.files)) for row in found]


def begin_work(connection: Connection, session: str, begun: Sequence[BackgroundWork]) -> None:
    end_work(connection, session, [work.id for work in begun])
    _insert_work.run(connection, [{"session_id": session, "id": work.id, "work": rows.to_json(work)} for work in begun])


def end_work(connection: Connection, session: str, ended: Sequence[str]) -> None:
    _delete_work.run(connection, [{"session": session, "work": work} for work in ended])
