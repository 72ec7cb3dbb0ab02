"""Queries stay fast however long a session grows: each finds its rows through an index, already in order."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from openagent.plugins.store import AuditEntry, Batch, RawAnswer, UsageRecord
from openagent.protocol.sessions import QueuedMessage
from openagent.protocol.usage import Usage
from openagent.store import open_store
from tests.store.store_contract import OTHER, SESSION, announced, filled, said, session_info

pytestmark = pytest.mark.anyio

READS_OR_WRITES = ("SELECT", "INSERT", "UPDATE", "DELETE")


@pytest.fixture
def executed() -> Iterator[list[str]]:
    """Every statement that SQLite is given, by whomever, its values filled in."""
    statements: list[str] = []

    def trace(connection: sqlite3.Connection, _record: Any) -> None:
        connection.set_trace_callback(statements.append)

    event.listen(Engine, "connect", trace)
    yield statements
    event.remove(Engine, "connect", trace)


def plan(url: str, sql: str) -> list[str]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    steps = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
    connection.close()
    return steps


async def test_no_query_of_a_session_reads_rows_it_does_not_need(sqlite_url: str, executed: list[str]) -> None:
    store = open_store(sqlite_url)
    await filled(store, 3)
    executed.clear()
    await store.session(SESSION)
    await store.session(SESSION[:20])
    await store.messages(SESSION, limit=50)
    await store.messages(SESSION, limit=50, before=3)
    await store.messages(SESSION, limit=50, after=1)
    await store.recent_messages(SESSION, token_budget=1_000)
    await store.turn_start(SESSION, 1)
    await store.events(SESSION, after=1, limit=10)
    await store.collections(SESSION)
    await store.audit(SESSION)
    await store.audit(before=5)
    await store.sessions(limit=5)
    await store.sessions(limit=5, before=1.0)
    await store.sessions(limit=5, before=1.0, cwd="/home/me/project")
    await store.unfinished_sessions()
    await store.usage_totals(since=1.0)
    await store.used_below([SESSION, OTHER])
    await store.commit(
        Batch(
            SESSION,
            session_info(),
            raw=RawAnswer(1, b"request", b"response"),
            messages=[said(4, "more")],
            events=announced([said(4, "more")], 4),
            usage=[UsageRecord(4, "m", Usage(), None)],
            audit=[AuditEntry("command", "ls")],
            queued=[QueuedMessage("q", [], 1.0)],
            unqueued=["q"],
        )
    )
    await store.raw(SESSION, 1)
    await store.fork_session(SESSION, session_info(OTHER), 2, [])
    await store.delete_session(OTHER)
    await store.close()

    written = {sql.split()[2] for sql in executed if sql.startswith("INSERT INTO")}
    assert written >= {"messages", "events", "token_usage", "audit", "inbox", "raw_exchanges"}
    assert sum(sql.startswith("SELECT") for sql in executed) > 20
    for sql in executed:
        for step in plan(sqlite_url, sql) if sql.startswith(READS_OR_WRITES) else ():
            needless = step.startswith("SCAN") and " USING INDEX " not in step and step != "SCAN audit"
            assert not needless, f"{step}: {sql}"
            assert "TEMP B-TREE" not in step, f"{step}: {sql}"
