"""What is said in a session is in memory while the session is, and no longer."""

import gc
from pathlib import Path

import pytest

from openagent.daemon.idle_sessions import AWAKE
from openagent.protocol.conversation import MessageRaw
from openagent.protocol.messages import Message
from openagent.protocol.sessions import SessionDelete

from .doing import ask, shell, turn
from .house import house, new_session

pytestmark = pytest.mark.anyio
STEPS = [shell("echo hi"), {"text": "It said hi."}]
PROMPT = "What does it say, please?"


def remembered() -> int:
    """Messages with the prompt in this process, which are a part of every request of their session."""
    gc.collect()
    return sum(each.text == PROMPT for each in gc.get_objects() if isinstance(each, Message))


async def test_a_session_that_is_put_away_or_deleted_gives_its_memory_back(tmp_path: Path) -> None:
    config = "[store]\nidle_sessions = 1"
    async with house(tmp_path, {"steps": STEPS, "loop": True}, config=config) as h, await h.client() as client:
        sessions = [await new_session(h, client) for _ in range(4)]
        for session in sessions:
            attachment = await client.attach(session)
            completed, seen = await turn(client, attachment, PROMPT)
            assert completed.reason == "done"
            await attachment.detach()
            del attachment, seen
        assert 1 <= remembered() <= 2, "only the newest is kept, and one on its way out"
        for session in sessions:
            await ask(client, SessionDelete, session=session)
        assert remembered() == 0


async def test_a_session_that_rested_goes_on_word_for_word(tmp_path: Path) -> None:
    async with house(tmp_path, {"steps": [{"text": "Noted."}], "loop": True}) as h, await h.client() as client:
        sessions = [await new_session(h, client) for _ in range(AWAKE + 2)]
        for session in sessions:
            attachment = await client.attach(session)
            await turn(client, attachment, PROMPT)
            await attachment.detach()
        assert remembered() <= AWAKE + 1
        before = h.sim.requests[0].body
        await turn(client, await client.attach(sessions[0]), "And now?")
        after = h.sim.requests[-1].body
        assert after.startswith(before.removesuffix("]}"))
        exchange = await ask(client, MessageRaw, session=sessions[0], number=4)
        assert exchange.request == after
