"""Queries over what was read of other agents' sessions: which files, what they cost, and the sessions made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, and_, bindparam, delete, func, insert, literal, select, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.types import Integer

from openagent.plugins.store import CollectionRecord
from openagent.protocol.events import SessionCreated
from openagent.protocol.messages import Message
from openagent.protocol.sessions import EndedTurn, SessionInfo
from openagent.protocol.usage import Usage
from openagent.store import rows
from openagent.store import sessions as stored_sessions
from openagent.store.hot import HotStatement
from openagent.store.messages import insert_messages
from openagent.store.sql_store import SqlStore
from openagent.store.tables import (
    collections,
    events,
    files_seen,
    history_files,
    history_requests,
    history_usage,
    messages,
    raw_exchanges,
    sessions,
    token_usage,
    turns,
)

_WRITER = "history"
_AT_ONCE = 500
_QUARTER = 900
"""Seconds of what is summed up together: days begin at full quarters of an hour everywhere on earth."""
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
_insert_requests = HotStatement(insert(history_requests))
_insert_usage = HotStatement(insert(history_usage))
_insert_turns = HotStatement(insert(turns))
_known_keys = select(history_requests.c.key).where(history_requests.c.key.in_(bindparam("keys", expanding=True)))


class HistoryFile(Struct, frozen=True):
    """A file, or one session of a database, that was looked at before."""

    id: int
    agent: str
    source: str
    counted: str
    """The version whose cost is known; empty: none."""
    imported: str
    """How far it was brought, as the importer wrote it; empty: not at all."""
    problem: str


class CountedRequest(Struct, frozen=True):
    key: int
    day: str
    model: str
    project: str
    usage: Usage
    cost_usd: float | None


class CountedFile(Struct, frozen=True):
    """A file, or one session of a database, and all requests in it."""

    agent: str
    source: str
    version: str
    requests: Sequence[CountedRequest]
    problem: str


class BroughtPiece(Struct, frozen=True):
    """The next messages of a session that is being brought."""

    info: SessionInfo
    """The session as it is after them."""
    messages: Sequence[Message]
    ends: Sequence[EndedTurn]
    collections: Sequence[CollectionRecord]
    keep: int | None = None
    """Of what was brought before, messages up to this one stay. None: all."""
    keep_turns: int = 0


class Spent(Struct, frozen=True):
    """What was used of one kind."""

    agent: str
    day: str
    model: str
    project: str
    requests: int
    unpriced: int
    usage: Usage
    cost_usd: float


class SqlHistory:
    """Of one machine: others may share the store."""

    def __init__(self, store: SqlStore, machine: str) -> None:
        self._store = store
        self._machine = machine

    async def files(self) -> dict[str, HistoryFile]:
        """By source."""
        return await self._store.read(_files, self._machine)

    async def put_counts(self, files: Sequence[CountedFile]) -> None:
        await self._store.write(_WRITER, _put_counts, self._machine, files)

    async def put_imported(self, agent: str, source: str, mark: str, problem: str) -> None:
        await self._store.write(_WRITER, _put_imported, (self._machine, agent, source), mark, problem)

    async def bring(self, piece: BroughtPiece) -> None:
        await self._store.write(piece.info.id, _bring, piece)

    async def spent(self, since: str = "", until: str = "") -> list[Spent]:
        """By agent, day, model and project. Days as 2026-01-31, the last one not included."""
        return await self._store.read(_spent, self._machine, since, until)

    async def own_spent(self) -> list[tuple[int, Spent]]:
        """What was used here, by a quarter of an hour, model and workspace; `day` is empty."""
        return await self._store.read(_own_spent)

    async def folders(self) -> list[str]:
        """Folders that somebody worked in."""
        return await self._store.read(_folders)


def _files(connection: Connection, machine: str) -> dict[str, HistoryFile]:
    found = connection.execute(select(history_files).where(history_files.c.machine == machine))
    return {
        row.source: HistoryFile(row.id, row.agent, row.source, row.counted, row.imported, row.problem) for row in found
    }


def _file(connection: Connection, place: tuple[str, str, str], values: Mapping[str, Any]) -> int:
    machine, agent, source = place
    same = and_(history_files.c.machine == machine, history_files.c.source == source)
    found = connection.execute(select(history_files.c.id).where(same)).scalar()
    if found is not None:
        connection.execute(update(history_files).where(same).values(**values))
        return found
    new = {"machine": machine, "agent": agent, "source": source, **values}
    connection.execute(insert(history_files), new)
    return connection.execute(select(history_files.c.id).where(same)).scalar_one()


def _put_imported(connection: Connection, place: tuple[str, str, str], mark: str, problem: str) -> None:
    _file(connection, place, {"imported": mark, "problem": problem})


def _put_counts(connection: Connection, machine: str, files: Sequence[CountedFile]) -> None:
    for each in files:
        values = {"counted": each.version, "problem": each.problem}
        _put_requests(connection, _file(connection, (machine, each.agent, each.source), values), each.requests)


def _put_requests(connection: Connection, file: int, requests: Sequence[CountedRequest]) -> None:
    """All that the file holds now, in the place of what it held before. A request that another file told of first is
    that file's."""
    connection.execute(delete(history_usage).where(history_usage.c.file == file))
    connection.execute(delete(history_requests).where(history_requests.c.file == file))
    sums: dict[tuple[str, str, str], list[Any]] = {}
    for start in range(0, len(requests), _AT_ONCE):
        some = {request.key: request for request in requests[start : start + _AT_ONCE]}
        known = set(connection.execute(_known_keys, {"keys": list(some)}).scalars())
        new = [request for key, request in some.items() if key not in known]
        if new:
            _insert_requests.run(connection, [{"key": request.key, "file": file} for request in new])
        for request in new:
            _add(sums, request)
    if sums:
        names = ("requests", "unpriced", *_TOKENS, "cost_usd")
        _insert_usage.run(
            connection,
            [
                {"file": file, "day": day, "model": model, "project": project, **dict(zip(names, values, strict=True))}
                for (day, model, project), values in sums.items()
            ],
        )


def _add(sums: dict[tuple[str, str, str], list[Any]], request: CountedRequest) -> None:
    values = sums.setdefault((request.day, request.model, request.project), [0, 0, 0, 0, 0, 0, 0, 0.0])
    values[0] += 1
    values[1] += int(request.cost_usd is None)
    for place, name in enumerate(_TOKENS, 2):
        values[place] += getattr(request.usage, name)
    values[7] += request.cost_usd or 0.0


def _bring(connection: Connection, piece: BroughtPiece) -> None:
    info = piece.info
    origin = info.origin
    assert origin is not None
    here = connection.execute(select(sessions.c.id).where(sessions.c.id == info.id)).scalar()
    if here is None:
        created = SessionCreated(session=info.id, seq=1, at=info.created_at, info=info)
        stored_sessions.create(connection, info, [created], None)
    elif piece.keep is not None:
        _cut(connection, info.id, piece.keep, piece.keep_turns)
    if piece.messages:
        insert_messages(connection, info.id, piece.messages)
    if piece.ends:
        _insert_turns.run(connection, [_end_row(info.id, end) for end in piece.ends])
    for record in piece.collections:
        stored_sessions.insert_collection(connection, info.id, record)
    changed = {
        "message_count": info.message_count,
        "turn_count": info.turn_count,
        "updated_at": info.updated_at,
        "agent": origin.agent,
        "brought": origin.messages,
        "origin": rows.to_json(origin),
    }
    connection.execute(update(sessions).where(sessions.c.id == info.id).values(**changed))


def _end_row(session: str, end: EndedTurn) -> dict[str, Any]:
    row = {"session_id": session, "turn": end.turn, "ended_at": end.ended_at, "reason": end.reason}
    return {**row, "record": rows.to_json(end)}


def _cut(connection: Connection, session: str, keep: int, keep_turns: int) -> None:
    """What comes after is said anew."""
    for table, beyond in (
        (messages, messages.c.number > keep),
        (turns, turns.c.turn > keep_turns),
        (collections, collections.c.last_message > keep),
        (raw_exchanges, raw_exchanges.c.message_number > keep),
        (files_seen, files_seen.c.message_number > keep),
        (events, events.c.seq > 1),
    ):
        connection.execute(delete(table).where(table.c.session_id == session, beyond))


def _spent(connection: Connection, machine: str, since: str, until: str) -> list[Spent]:
    names = ("requests", "unpriced", *_TOKENS, "cost_usd")
    statement = (
        select(
            history_files.c.agent,
            history_usage.c.day,
            history_usage.c.model,
            history_usage.c.project,
            *(func.sum(history_usage.c[name]).label(name) for name in names),
        )
        .join(history_files, history_files.c.id == history_usage.c.file)
        .where(history_files.c.machine == machine)
        .group_by(history_files.c.agent, history_usage.c.day, history_usage.c.model, history_usage.c.project)
    )
    if since:
        statement = statement.where(history_usage.c.day >= since)
    if until:
        statement = statement.where(history_usage.c.day < until)
    return [
        Spent(
            row["agent"],
            row["day"],
            row["model"],
            row["project"],
            int(row["requests"]),
            int(row["unpriced"]),
            _usage(row),
            float(row["cost_usd"]),
        )
        for row in connection.execute(statement).mappings()
    ]


def _own_spent(connection: Connection) -> list[tuple[int, Spent]]:
    quarter = sql_cast(token_usage.c.at / _QUARTER, Integer).label("quarter")
    project = func.coalesce(sessions.c.cwd, literal("")).label("project")
    statement = (
        select(
            quarter,
            token_usage.c.model,
            project,
            func.count().label("requests"),
            (func.count() - func.count(token_usage.c.cost_usd)).label("unpriced"),
            *(func.sum(token_usage.c[name]).label(name) for name in _TOKENS),
            func.coalesce(func.sum(token_usage.c.cost_usd), 0.0).label("cost_usd"),
        )
        .select_from(token_usage.outerjoin(sessions, sessions.c.id == token_usage.c.session_id))
        .group_by(quarter, token_usage.c.model, project)
    )
    return [
        (
            int(row["quarter"]) * _QUARTER,
            Spent(
                "openagent",
                "",
                row["model"],
                row["project"],
                int(row["requests"]),
                int(row["unpriced"]),
                _usage(row),
                float(row["cost_usd"]),
            ),
        )
        for row in connection.execute(statement).mappings()
    ]


def _usage(row: Mapping[Any, Any]) -> Usage:
    return rows.usage({**{name: int(row[name]) for name in _TOKENS}, "estimated": False})


def _folders(connection: Connection) -> list[str]:
    return list(connection.execute(select(sessions.c.cwd).distinct()).scalars())
