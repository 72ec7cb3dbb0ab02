"""Queries stay fast however long a session grows: each finds its rows through an index, already in order."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from openagent.plugins.store import AuditEntry, Batch, RawAnswer
from openagent.plugins.testing.store_contract import OTHER, SESSION, filled, session_info
from openagent.protocol.sessions import QueuedMessage
from openagent.store import open_store

pytestmark = pytest.mark.anyio

Statements = list[tuple[str, Any]]


@pytest.fixture
def executed() -> Iterator[Statements]:
    """Every statement that any store sends to its database."""
    statements: Statements = []

    def record(_connection: Any, _cursor: Any, sql: str, parameters: Any, _context: Any, many: bool) -> None:
        statements.append((sql, parameters[0] if many else parameters))

    event.listen(Engine, "before_cursor_execute", record)
    yield statements
    event.remove(Engine, "before_cursor_execute", record)


def plan(url: str, sql: str, parameters: Any) -> list[str]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    steps = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
    connection.close()
    return steps


async def test_no_query_of_a_session_reads_rows_it_does_not_need(sqlite_url: str, executed: Statements) -> None:
    store = open_store(sqlite_url)
    await filled(store, 3)
    executed.clear()
    await store.session(SESSION)
    await store.session(SESSION[:20])
    await store.messages(SESSION, limit=50)
    await store.messages(SESSION, limit=50, before=3)
    await store.messages(SESSION, limit=50, after=1)
    await store.recent_messages(SESSION, token_budget=1_000)
    await store.events(SESSION, after=1, limit=10)
    await store.collections(SESSION)
    await store.audit(SESSION)
    await store.audit(before=5)
    await store.sessions(limit=5)
    await store.sessions(limit=5, before=1.0)
    await store.sessions(limit=5, before=1.0, cwd="/home/me/project")
    await store.unfinished_sessions()
    await store.usage_totals(since=1.0)
    await store.commit(
        Batch(
            SESSION,
            session_info(),
            raw=RawAnswer(1, b"request", b"response"),
            audit=[AuditEntry("command", "ls")],
            queued=[QueuedMessage("q", [], 1.0)],
            unqueued=["q"],
        )
    )
    await store.raw(SESSION, 1)
    await store.fork_session(SESSION, session_info(OTHER), 2, [])
    await store.delete_session(OTHER)
    await store.close()

    assert len(executed) > 25
    for sql, parameters in executed:
        for step in plan(sqlite_url, sql, parameters):
            needless = step.startswith("SCAN") and " USING INDEX " not in step and step != "SCAN audit"
            assert not needless, f"{step}: {sql}"
            assert "TEMP B-TREE" not in step, f"{step}: {sql}"
