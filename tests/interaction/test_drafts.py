"""What is kept of an answer while it streams, should the daemon die. (That it comes back then: tests/e2e.)"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openagent.plugins.store import DraftPiece
from openagent.protocol import events as e
from openagent.protocol.messages import TextPart, ThinkingPart
from openagent.store import open_store
from openagent.store.sql_store import SqlStore

from .doing import messages_of
from .house import PATIENCE, House, house, new_session, until

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openagent.core.streamed_answer.KEPT_AFTER", 0.02)


@asynccontextmanager
async def beside(h: House) -> AsyncGenerator[SqlStore, None]:
    """The daemon's database, as its successor would find it now."""
    store = await asyncio.to_thread(open_store, f"sqlite:///{h.home}/openagent.db")
    try:
        yield store
    finally:
        await store.close()


async def kept(store: SqlStore, session: str, wanted: Callable[[Sequence[DraftPiece]], bool]) -> list[DraftPiece]:
    async with asyncio.timeout(PATIENCE):
        while not wanted(pieces := await store.draft(session)):
            await asyncio.sleep(0.01)
    return pieces


def text_of(pieces: Sequence[DraftPiece]) -> str:
    parts = [part for piece in pieces for part in piece.parts]
    return "".join(part.text for part in parts if isinstance(part, TextPart | ThinkingPart))


async def test_what_was_streamed_is_kept_until_it_is_a_message(tmp_path: Path) -> None:
    slow = {"chunks": ["Once", " upon", " a time."], "fault": {"name": "stall", "after": 2, "times": 1}}
    async with house(tmp_path, [slow]) as h, await h.client() as client, beside(h) as store:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        pieces = await kept(store, session, lambda pieces: text_of(pieces) == "Once upon")
        (owed,) = pieces[-1].usage
        assert owed.usage.estimated
        assert owed.usage.input_tokens > 100
        assert 0 < owed.usage.output_tokens < 10
        await client.cancel(session)
        await attachment.until_turn_ends()
        assert (await messages_of(client, session))[-1].text == "Once upon"
        assert await store.draft(session) == []


async def test_a_question_that_is_not_answered_yet_is_to_be_paid_for(tmp_path: Path) -> None:
    hanging = [{"text": "Late.", "fault": "hang"}]
    async with house(tmp_path, hanging) as h, await h.client() as client, beside(h) as store:
        session = await new_session(h, client)
        await client.send(session, "go")
        (piece,) = await kept(store, session, lambda pieces: len(pieces) > 0)
        assert piece.parts == []
        assert [owed.usage.output_tokens for owed in piece.usage] == [0]
        assert piece.usage[0].usage.input_tokens > 100
        await client.cancel(session)


async def test_an_attempt_that_broke_off_is_void_and_paid_for_beside_the_next(tmp_path: Path) -> None:
    faults = [{"name": "disconnect", "after": 2, "times": 1}, {"name": "stall", "after": 1}]
    chunks = ["One, ", "two, three, four, five, six, ", "seven."]
    async with house(tmp_path, [{"chunks": chunks, "fault": faults}]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.RetryScheduled))
        async with beside(h) as store:
            pieces = await kept(store, session, lambda pieces: text_of(pieces) == "One, ")
        first, second = pieces[-1].usage
        assert first.usage.output_tokens > second.usage.output_tokens > 0
        await client.cancel(session)
