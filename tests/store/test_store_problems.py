"""Errors a person meets say what happened and what to do."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from openagent.plugins.store import Batch
from openagent.plugins.testing.store_contract import SESSION, created, said, session_info
from openagent.protocol.errors import OpenAgentError
from openagent.store import open_store

pytestmark = pytest.mark.anyio


@pytest.fixture
def pragma(request: pytest.FixtureRequest) -> Iterator[None]:
    """Sets a limit on each new SQLite connection that a real disk or neighbour would set."""

    def limit(connection: sqlite3.Connection, _record: Any) -> None:
        connection.execute(f"PRAGMA {request.param}")

    event.listen(Engine, "connect", limit)
    yield
    event.remove(Engine, "connect", limit)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("not a url", "not a database URL"),
        ("mysql://host/db", "cannot be kept in 'mysql'"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
    ],
)
def test_a_url_that_cannot_be_a_store_is_explained(url: str, said: str) -> None:
    with pytest.raises(OpenAgentError, match=said) as refused:
        open_store(url)
    assert refused.value.info.code == "config_error"
    assert "sqlite:///" in refused.value.info.hint


def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("these are my notes, " * 100)
    with pytest.raises(OpenAgentError, match="is not a SQLite database"):
        open_store(f"sqlite:///{tmp_path}/notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("these are my notes")


async def test_a_damaged_file_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(f"sqlite:///{path}")
    await created(store)
    for number in range(1, 50):
        await store.commit(Batch(SESSION, messages=[said(number, "x" * 2000)]))
    await store.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(OpenAgentError, match="is damaged") as refused:
        open_store(f"sqlite:///{path}")
    assert refused.value.info.code == "store_error"
    assert refused.value.info.hint


@pytest.mark.parametrize("pragma", ["busy_timeout=20"], indirect=True)
@pytest.mark.usefixtures("pragma")
async def test_a_file_another_program_holds_on_to_is_explained(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OpenAgentError, match="is locked by another program"):
        await store.commit(Batch(SESSION, session_info(seq=9)))
    assert (await store.session(SESSION)).info.seq == 0
    other.execute("ROLLBACK")
    other.close()
    await store.commit(Batch(SESSION, session_info(seq=9)))
    assert (await store.session(SESSION)).info.seq == 9
    await store.close()


@pytest.mark.parametrize("pragma", ["max_page_count=60"], indirect=True)
@pytest.mark.usefixtures("pragma")
async def test_a_full_disk_is_explained_and_harms_nothing(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    with pytest.raises(OpenAgentError, match="the disk is full"):
        await store.commit(Batch(SESSION, messages=[said(1, "x" * 1_000_000)]))
    await store.commit(Batch(SESSION, messages=[said(1, "small enough")]))
    assert [message.text for message in await store.messages(SESSION, limit=5)] == ["small enough"]
    await store.close()


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OpenAgentError, match="cannot be opened") as refused:
        open_store(f"sqlite:///{tmp_path}/file/store.db")
    assert refused.value.info.hint


def test_a_server_that_is_not_there_is_explained_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(OpenAgentError, match="cannot be reached") as refused:
        open_store(f"postgresql://me:hunter2@/database?host={tmp_path}")
    assert refused.value.info.code == "store_unavailable"
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


async def test_a_name_the_database_cannot_hold_is_refused_and_the_store_goes_on(postgres_url: str) -> None:
    store = open_store(postgres_url)
    with pytest.raises(OpenAgentError) as refused:
        await store.create_session(session_info(name="a\x00b"), [])
    assert refused.value.info.code == "invalid_argument"
    await created(store)
    with pytest.raises(OpenAgentError) as refused:
        await store.commit(Batch(SESSION, session_info(name="a\x00b")))
    assert refused.value.info.code == "invalid_argument"
    await store.commit(Batch(SESSION, session_info(name="ab")))
    assert [info.name for info in await store.sessions(limit=5)] == ["ab"]
    await store.close()


async def test_connections_that_the_server_dropped_are_replaced(postgres_url: str, postgres_server: str) -> None:
    store = open_store(f"{postgres_url}&application_name=dropped")
    await created(store)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        dropped = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dropped'"
        ).fetchall()
    assert dropped
    await store.commit(Batch(SESSION, messages=[said(1, "still here")]))
    assert [message.text for message in await store.messages(SESSION, limit=5)] == ["still here"]
    await store.close()


async def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/new/folder/store.db")
    await created(store)
    modes = {file.name: os.stat(file).st_mode & 0o777 for file in (tmp_path / "new" / "folder").iterdir()}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert os.stat(tmp_path / "new" / "folder").st_mode & 0o777 == 0o700
    await store.close()
