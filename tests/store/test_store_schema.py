"""A database has the same schema whether it was created at once or migrated step by step."""

import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from openagent.plugins.store import AuditEntry, Batch
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import TurnCompleted
from openagent.protocol.usage import Usage
from openagent.store import open_store, schema
from openagent.store.access import SqlAccess
from openagent.store.tables import metadata
from tests.store.store_contract import SESSION, created, filled

pytestmark = pytest.mark.anyio

DESCRIPTION = {
    "sqlite": [
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type != 'table' ORDER BY name",
        'SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk FROM sqlite_master AS m '
        "JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table' ORDER BY m.name, c.name",
        'SELECT m.name, f."from", f."table", f."to", f.on_delete FROM sqlite_master AS m '
        "JOIN pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table' ORDER BY m.name, f.id",
    ],
    "postgresql": [
        "SELECT table_name, column_name, data_type, is_nullable, collation_name, is_identity, column_default "
        "FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, column_name",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY indexname",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = current_schema()::regnamespace ORDER BY conname",
        "SELECT tgname, pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
        "WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal ORDER BY tgname",
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace",
    ],
}


FIRST_OF_TEAMS = "0019"


@contextmanager
def connected(url: str) -> Generator[Connection]:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def described(connection: Connection) -> list[list[Any]]:
    """The whole schema in the database's own words, white space aside."""
    return [
        [tuple(" ".join(str(value).split()) for value in row) for row in connection.execute(text(query))]
        for query in DESCRIPTION[connection.dialect.name]
    ]


def columns(connection: Connection) -> dict[str, dict[str, bool]]:
    """Those of every table, and whether a row may be written that does not name them."""
    found = inspect(connection)
    return {
        table: {each["name"]: each["nullable"] or each["default"] is not None for each in found.get_columns(table)}
        for table in found.get_table_names()
    }


async def schema_of_new_store(url: str) -> list[list[Any]]:
    await open_store(url).close()
    with connected(url) as connection:
        return described(connection)


async def test_a_new_database_equals_a_migrated_one(database_url: str) -> None:
    created_at_once = await schema_of_new_store(database_url)
    with connected(database_url) as connection:
        config = schema.alembic_config(connection)
        command.downgrade(config, "base")
        command.upgrade(config, "head")
        assert described(connection) == created_at_once


async def test_the_tables_in_the_code_are_those_the_migrations_make(database_url: str) -> None:
    with connected(database_url) as connection:
        command.upgrade(schema.alembic_config(connection), "head")
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


async def test_migrations_since_teams_only_add_so_that_older_processes_may_go_on(sqlite_url: str) -> None:
    """What an older process reads and writes stays: it goes on beside newer ones while a team is upgraded."""
    await open_store(sqlite_url).close()
    with connected(sqlite_url) as connection:
        config = schema.alembic_config(connection)
        command.downgrade(config, FIRST_OF_TEAMS)
        before = columns(connection)
        command.upgrade(config, "head")
        after = columns(connection)
    for table, known in before.items():
        assert known.items() <= after[table].items(), table
        needed = {name for name, given in after[table].items() if not given} - set(known)
        assert not needed, f"{table}: an older process would write no {needed}"


async def test_going_down_to_nothing_leaves_nothing_and_the_store_opens_again(database_url: str) -> None:
    before = await schema_of_new_store(database_url)
    with connected(database_url) as connection:
        command.downgrade(schema.alembic_config(connection), "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    assert await schema_of_new_store(database_url) == before


def test_the_revision_in_the_code_is_the_newest(sqlite_url: str) -> None:
    with connected(sqlite_url) as connection:
        assert ScriptDirectory.from_config(schema.alembic_config(connection)).get_heads() == [schema.HEAD]


def test_a_sqlite_file_that_needs_no_migration_is_opened_without_alembic_and_postgresql(sqlite_url: str) -> None:
    script = (
        "import sys; from openagent.store import open_store\n"
        f"open_store({sqlite_url!r}); open_store({sqlite_url!r})\n"
        "sys.exit(', '.join(name for name in sys.modules if 'alembic' in name or 'postgresql' in name) or 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


async def test_a_migrated_database_keeps_its_content(database_url: str) -> None:
    store = open_store(database_url)
    messages = await filled(store, 3)
    await store.close()
    with connected(database_url) as connection:
        command.upgrade(schema.alembic_config(connection), "head")
    store = open_store(database_url)
    assert await store.messages(SESSION, limit=5) == messages
    await store.close()


async def test_a_migration_finds_out_how_earlier_turns_ended(database_url: str) -> None:
    store = open_store(database_url)
    await created(store)
    refused = ErrorInfo("auth_failed", "The key is not accepted.", hint="Log in again.")
    ends = [
        TurnCompleted(session=SESSION, seq=1, at=5.0, turn=1, reason="error", error=refused, usage=Usage(3, 4)),
        TurnCompleted(session=SESSION, seq=2, at=6.0, turn=2, reason="interrupted"),
        TurnCompleted(session=SESSION, seq=3, at=7.0, turn=2, reason="done", text="So.", steps=2, cost_usd=0.5),
    ]
    for end in ends:
        await store.commit(Batch(SESSION, events=[end]))
    await store.close()
    with connected(database_url) as connection:
        config = schema.alembic_config(connection)
        command.downgrade(config, "0005")
        command.upgrade(config, "head")
    store = open_store(database_url)
    assert await store.turns(SESSION, first=1, last=2) == [ends[0].ended, ends[2].ended]
    await store.close()


async def test_a_sqlite_file_is_copied_before_it_is_migrated(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    await store.close()
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with connected(sqlite_url) as connection:
        command.downgrade(schema.alembic_config(connection), FIRST_OF_TEAMS)
    (blocking := path.with_name(f"{path.name}.copying")).mkdir()
    with pytest.raises(OpenAgentError, match="cannot be copied first"):
        open_store(sqlite_url)
    with connected(sqlite_url) as connection:
        assert schema.version(connection) == FIRST_OF_TEAMS
    blocking.rmdir()
    path.with_name(f"{path.name}.schema-0007").touch()  # of an earlier migration
    await open_store(sqlite_url).close()
    (copy,) = path.parent.glob(f"{path.name}.schema-*")
    assert copy.stat().st_mode & 0o777 == 0o600
    with connected(f"sqlite:///{copy}") as connection:
        assert schema.version(connection) == FIRST_OF_TEAMS
        assert connection.execute(text("SELECT id FROM sessions")).scalars().all() == [SESSION]


async def test_a_database_of_a_newer_program_is_left_alone(database_url: str) -> None:
    await open_store(database_url).close()
    with connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'from-the-future'"))
    with pytest.raises(OpenAgentError, match="newer OpenAgent") as refused:
        open_store(database_url)
    assert refused.value.info.code == "store_error"
    assert refused.value.info.hint


async def test_a_database_of_another_program_is_left_alone(database_url: str) -> None:
    with connected(database_url) as connection:
        connection.execute(text("CREATE TABLE sessions (theirs INTEGER)"))
    with pytest.raises(OpenAgentError, match=r"another program's: it holds tables \(sessions"):
        open_store(database_url)
    with connected(database_url) as connection:
        assert inspect(connection).get_table_names() == ["sessions"]


async def test_daemons_that_start_at_once_agree_on_who_creates_the_tables(database_url: str) -> None:
    with ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(open_store, [database_url] * 4))
    await created(stores[0])
    for store in stores:
        assert await store.count_sessions() == 1
        await store.close()


@pytest.mark.parametrize("tampering", ["UPDATE audit SET kind = 'x'", "DELETE FROM audit"])
async def test_the_audit_trail_cannot_be_changed_by_hand(database_url: str, tampering: str) -> None:
    store = open_store(database_url)
    await store.commit(Batch(SESSION, audit=[AuditEntry("command", "rm -rf build")]))
    with pytest.raises(Exception, match="append-only"), connected(database_url) as connection:
        connection.execute(text(tampering))
    assert [entry.subject for entry in await store.audit()] == ["rm -rf build"]
    await store.close()


async def test_a_migration_leaves_folders_to_those_tokens_alone_that_could_do_everything(database_url: str) -> None:
    await open_store(database_url).close()
    with connected(database_url) as connection:
        command.downgrade(schema.alembic_config(connection), "0011")
        given = {"created_at": 1.0, "digest": b"x"}
        for name, kind, scopes in (
            ("ci", "token", "chat read"),
            ("boss", "token", "admin"),
            ("web", "browser", "read"),
        ):
            row = {**given, "id": name, "name": name, "kind": kind, "scopes": scopes}
            connection.execute(
                text(
                    "INSERT INTO access_tokens (id, name, kind, scopes, created_at, digest) "
                    "VALUES (:id, :name, :kind, :scopes, :created_at, :digest)"
                ),
                row,
            )
        replay = {"caller": "owner", "key": "k", "at": 1.0, "status": 201, "fingerprint": b"x", "headers": "[]"}
        connection.execute(
            text(
                "INSERT INTO replays (caller, key, at, status, fingerprint, headers, body) "
                "VALUES (:caller, :key, :at, :status, :fingerprint, :headers, :body)"
            ),
            {**replay, "body": b"a secret"},
        )
        command.upgrade(schema.alembic_config(connection), "head")
    store = open_store(database_url)
    try:
        access = SqlAccess(store)
        assert {each.info.name: each.info.roots for each in await access.tokens()} == {
            "ci": [],
            "boss": ["/"],
            "web": ["/"],
        }
        assert await access.replay("owner", "k") is None
    finally:
        await store.close()
