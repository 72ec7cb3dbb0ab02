"""A store that fails keeps nobody waiting, and loses nothing that was told."""

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from benchmarks.outages import HEARD_WITHIN_S, Kind, Moment, rounds
from openagent.protocol import events as e

from .doing import messages_of, shell
from .house import house, new_session, until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("kind", "moment"), [("lock", "command"), ("disk", "streaming"), ("postgres", "asking")], ids=lambda value: value
)
async def test_people_are_told_soon_nothing_told_is_lost_and_the_session_goes_on(kind: Kind, moment: Moment) -> None:
    (played,) = await rounds(kind, [moment], seconds=0)
    assert played.heard_s < HEARD_WITHIN_S


async def test_what_is_queued_waits_for_the_store_and_then_starts_by_itself(tmp_path: Path) -> None:
    script = [shell("cat gate"), {"text": "Next."}]
    async with house(tmp_path, script) as h, await h.client() as client:
        os.mkfifo(h.workspace / "gate")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "first")
        await client.send(session, "second")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        other = sqlite3.connect(h.home / "openagent.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
        seen = await until(attachment, lambda event: isinstance(event, e.TurnCompleted))
        failed = seen[-1]
        assert isinstance(failed, e.TurnCompleted)
        assert failed.error is not None
        assert (failed.reason, failed.error.code) == ("error", "store_unavailable")
        assert "locked by another program" in failed.error.message
        assert failed.error.hint
        other.execute("ROLLBACK")
        other.close()
        seen = await until(attachment, lambda event: isinstance(event, e.TurnCompleted))
        answered = seen[-1]
        assert isinstance(answered, e.TurnCompleted)
        assert (answered.turn, answered.reason, answered.text) == (2, "done", "Next.")
        assert [message.text for message in await messages_of(client, session) if message.role == "user"] == [
            "first",
            "second",
        ]
