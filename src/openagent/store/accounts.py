"""Queries over what was spent and what was done. Both outlive the sessions they tell about."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, Integer, and_, bindparam, cast, func, insert, select

from openagent.plugins.store import AuditEntry, UsageRecord, UsageTotals
from openagent.protocol.usage import Usage
from openagent.store import rows
from openagent.store.hot import Gathering, HotStatement
from openagent.store.tables import audit, messages, token_usage

_insert_usage = HotStatement(insert(token_usage))
_insert_audit = HotStatement(insert(audit))
_answered = and_(messages.c.session_id == token_usage.c.session_id, messages.c.number == token_usage.c.message_number)
_entry_decoder = msgspec.json.Decoder(AuditEntry)
_SUMMED = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
_totals = select(
    *(func.coalesce(func.sum(token_usage.c[name]), 0).label(name) for name in _SUMMED),
    func.coalesce(func.max(cast(token_usage.c.estimated, Integer)), 0).label("estimated"),
    func.coalesce(func.sum(token_usage.c.cost_usd), 0.0).label("cost_usd"),
    func.count().label("requests"),
    (func.count() - func.count(token_usage.c.cost_usd)).label("unpriced"),
).where(token_usage.c.at >= bindparam("since"))


def insert_usage(into: Connection | Gathering, session: str, records: Sequence[UsageRecord]) -> None:
    _insert_usage.run(into, [rows.usage_row(session, record) for record in records])


def any_usage(connection: Connection, sessions: Sequence[str]) -> bool:
    found = select(token_usage.c.id).where(token_usage.c.session_id.in_(sessions)).limit(1)
    return connection.execute(found).first() is not None


def totals(connection: Connection, since: float) -> UsageTotals:
    row = connection.execute(_totals, {"since": since}).mappings().one()
    tokens = {name: int(row[name]) for name in _SUMMED}
    usage = Usage(**tokens, estimated=bool(row["estimated"]))
    return UsageTotals(usage, float(row["cost_usd"]), row["requests"], row["unpriced"])


def usage_between(connection: Connection, since: float, until: float | None) -> list[tuple[str, UsageRecord]]:
    statement = (
        select(token_usage, messages.c.latency_ms)
        .select_from(token_usage.outerjoin(messages, _answered))
        .where(token_usage.c.at >= since)
        .order_by(token_usage.c.at, token_usage.c.id)
    )
    if until is not None:
        statement = statement.where(token_usage.c.at < until)
    return [(row["session_id"], rows.usage_record(row)) for row in connection.execute(statement).mappings()]


def insert_audit(into: Connection | Gathering, session: str, entries: Sequence[AuditEntry]) -> None:
    new = [
        {"session_id": session, "at": entry.at, "kind": entry.kind, "entry": rows.to_json(entry)} for entry in entries
    ]
    _insert_audit.run(into, new)


def audit_trail(
    connection: Connection, session: str | None, *, kind: str, since: float, limit: int, before: int | None
) -> list[AuditEntry]:
    """Newest first."""
    statement = select(audit.c.id, audit.c.session_id, audit.c.entry).order_by(audit.c.id.desc()).limit(limit)
    if session is not None:
        statement = statement.where(audit.c.session_id == session)
    if kind:
        statement = statement.where(audit.c.kind == kind)
    if since:
        statement = statement.where(audit.c.at >= since)
    if before is not None:
        statement = statement.where(audit.c.id < before)
    return [
        msgspec.structs.replace(_entry_decoder.decode(entry), id=number, session=session_id)
        for number, session_id, entry in connection.execute(statement)
    ]
