"""Errors a person meets say what happened and what to do."""

import asyncio
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy.engine import Engine

from openagent.plugins.store import Batch
from openagent.protocol.errors import OpenAgentError
from openagent.store import open_store
from tests.store.store_contract import SESSION, created, filled, said, session_info

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


@pytest.mark.parametrize("pragma", ["max_page_count=120"], indirect=True)
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


SPOILT: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: os.truncate(path, path.stat().st_size // 2), "is damaged"),
    (lambda path: path.write_bytes(path.read_bytes()[:4096] + os.urandom(path.stat().st_size)), "is damaged"),
    (lambda path: path.write_bytes(b"my diary\n" * 999), "is not a SQLite database"),
    (lambda path: (path.write_bytes(b""), os.utime(path, (1, 1))), "is damaged: it is empty"),
    (lambda path: (path.write_bytes(b""), (path.parent / "checkpoints").mkdir()), "is damaged: it is empty"),
    (lambda path: (path.unlink(), path.mkdir()), "a folder in place of"),
    (lambda path: change(path, "UPDATE alembic_version SET version_num = '9999'"), "newer OpenAgent"),
    (lambda path: change(path, "DELETE FROM alembic_version"), "is damaged or another program's"),
]


@pytest.mark.parametrize(("spoil", "told"), SPOILT)
async def test_a_database_that_cannot_be_used_is_named_with_what_to_do_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], object], told: str
) -> None:
    path = tmp_path / "store.db"
    store = open_store(f"sqlite:///{path}")
    await filled(store, 200)
    await store.close()
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(OpenAgentError, match=told) as refused:
        await use(f"sqlite:///{path}")
    assert str(path) in refused.value.info.message
    assert refused.value.info.hint
    assert (path.read_bytes() if path.is_file() else b"") == before


@given(st.integers(0, 2**32), st.sampled_from(["bytes", "page", "end", "zeros", "text"]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_of_any_kind_is_told_as_damage_and_without_a_word_of_what_was_said(
    tmp_path: Path, seed: int, kind: str
) -> None:
    async def scene() -> None:
        good = tmp_path / "good.db"
        if not good.exists():
            store = open_store(f"sqlite:///{good}")
            await filled(store, 60, text="confidential " * 99)
            await store.close()
        path = tmp_path / f"{kind}-{seed}.db"
        path.write_bytes(spoilt(good.read_bytes(), random.Random(seed), kind))
        await use(f"sqlite:///{path}")

    told = ""
    try:
        asyncio.run(scene())
    except OpenAgentError as problem:
        told = str(problem)
    assert "confidential" not in told


def spoilt(data: bytes, dice: random.Random, kind: str) -> bytes:
    changed = bytearray(data)
    place = dice.randrange(len(data))
    match kind:
        case "bytes":
            for _ in range(dice.choice([1, 10, 200])):
                changed[dice.randrange(len(data))] = dice.randrange(256)
        case "page":
            changed[place & ~4095 : (place & ~4095) + 4096] = dice.randbytes(4096)
        case "end":
            del changed[place + 1 :]
        case "zeros":
            changed[place : place + 8000] = bytes(len(changed[place : place + 8000]))
        case _:
            word = dice.choice([b'"type"', b"line", b"text", b"sessions", b"CREATE", b"{"])
            return data.replace(word, dice.choice([b"\xff\xfe", b"\0"]) * 3)
    return bytes(changed)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


async def use(url: str) -> None:
    store = open_store(url)
    try:
        await store.sessions(limit=10)
        await store.session(SESSION)
        await store.messages(SESSION, limit=200)
        await store.events(SESSION, after=0, limit=500)
    finally:
        await store.close()
