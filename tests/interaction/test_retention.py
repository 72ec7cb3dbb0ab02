"""Sessions that rest longer than a person wants to keep them."""

import sqlite3
import time
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.daemon import hourly
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionInfo, SessionList

from .doing import ask, one_turn
from .house import house

pytestmark = pytest.mark.anyio

DAY = 86_400
RESTED = {"new": 0, "month": 40, "year": 400}


async def listed(client: Client) -> dict[str, SessionInfo]:
    return {info.name: info for info in (await ask(client, SessionList)).sessions}


async def make(tmp_path: Path) -> Path:
    """One session for each, last used so many days ago; the file of the database."""
    async with house(tmp_path, {"steps": [{"text": "x" * 4000}], "loop": True}) as h, await h.client() as client:
        for name in RESTED:
            await one_turn(h, client, name=name)
    (database,) = (tmp_path / "home").glob("*.db")
    with sqlite3.connect(database) as connection:
        for name, days in RESTED.items():
            connection.execute("UPDATE sessions SET updated_at = ? WHERE name = ?", (time.time() - days * DAY, name))
    connection.close()
    return database


@pytest.mark.parametrize(
    ("said", "left", "put_away"),
    [
        ("", {"new", "month", "year"}, set[str]()),
        ("archive_days = 30", {"new", "month", "year"}, {"month", "year"}),
        ("archive_days = 30\ndelete_days = 365", {"new", "month"}, {"month"}),
        ('max_database = "1k"', {"new"}, set[str]()),
    ],
)
async def test_what_rests_goes_as_it_is_set_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, left: set[str], put_away: set[str]
) -> None:
    await make(tmp_path)
    monkeypatch.setattr(hourly, "FIRST_LOOK", 0.05)
    monkeypatch.setattr(hourly, "LOOK_AGAIN", 0.05)
    config = f"[backup]\ndaily = false\n[retention]\n{said}"
    async with (
        house(tmp_path, {"steps": [{"text": "hi"}], "loop": True}, config=config) as h,
        await h.client() as client,
    ):
        found = await listed(client)
        while set(found) != left or {name for name, info in found.items() if info.archived} != put_away:
            found = await listed(client)
        session, completed, _ = await one_turn(h, client, name="later")
        assert isinstance(completed, e.TurnCompleted)
        assert session in {info.id for info in (await listed(client)).values()}
        assert left < set(await listed(client))


async def test_room_that_nobody_uses_goes_back_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = await make(tmp_path)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE gone AS SELECT zeroblob(40000000) AS room")
        connection.execute("DROP TABLE gone")
    connection.close()
    assert database.stat().st_size > 40_000_000
    monkeypatch.setattr(hourly, "FIRST_LOOK", 0.05)
    async with house(tmp_path, [{"text": "hi"}], config="[backup]\ndaily = false") as h, await h.client() as client:
        while database.stat().st_size > 4_000_000:
            await listed(client)
        _, completed, _ = await one_turn(h, client, name="later")
        assert completed.reason == "done"
        assert set(await listed(client)) == {*RESTED, "later"}
