"""What is longer than a model can read is refused or cut with a word to both sides, and never left out in silence."""

import asyncio
import os
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.sessions import SessionUpdate, SettingsChange

from .doing import ask, messages_of, shell, turn
from .house import house, new_session, until

pytestmark = pytest.mark.anyio

SMALL = "compatible/smollm2"
"""4,096 tokens."""
TOO_LONG = "All work and no play makes Jack a dull boy. " * 1_000


async def test_a_message_longer_than_the_window_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Fine."}]) as h, await h.client() as client:
        session = await new_session(h, client, model=SMALL)
        attachment = await client.attach(session)
        refused, _ = await turn(client, attachment, TOO_LONG)
        assert refused.error is not None
        assert (refused.reason, refused.error.code) == ("error", "context_too_long")
        assert "about 11,0" in refused.error.message
        assert "4,096" in refused.error.message
        assert refused.error.hint
        assert not h.sim.requests
        answered, _ = await turn(client, attachment, "a shorter one")
        assert answered.reason == "done"
        assert "dull boy" not in h.sim.requests[-1].body
        assert "a shorter one" in h.sim.requests[-1].body
        assert TOO_LONG in [message.text for message in await messages_of(client, session)]


async def test_a_queued_message_that_is_too_long_is_refused_and_the_next_one_is_answered(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("cat gate"), {"text": "First."}, {"text": "Third."}]) as h:
        os.mkfifo(h.workspace / "gate")
        async with await h.client() as client:
            session = await new_session(h, client, model=SMALL)
            attachment = await client.attach(session)
            for message in ("first", TOO_LONG, "third"):
                await client.send(session, message)
            await until(attachment, lambda event: isinstance(event, e.ToolStarted))
            await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
            ends = [(await attachment.until_turn_ends())[0] for _ in range(3)]
        assert [end.error.code if end.error else end.text for end in ends] == ["First.", "context_too_long", "Third."]


async def test_what_was_asked_is_shown_also_when_it_is_longer_than_what_is_loaded(tmp_path: Path) -> None:
    """Nothing is known of this model's window: it is told everything, and may say that it is too much."""
    async with house(tmp_path, [{"text": "Fine."}]) as h, await h.client() as client:
        completed, _ = await turn(client, await client.attach(await new_session(h, client)), "word " * 340_000 + "end")
        assert completed.reason == "done"
        assert h.sim.requests[-1].body_size > 5 * 340_000


async def test_a_turn_of_many_long_results_goes_on_from_what_was_asked(tmp_path: Path) -> None:
    """After a restart in the middle of it, with more results than are loaded."""
    long = shell("head -c 30000 /dev/zero | tr '\\0' x")
    script = [*[long] * 6, shell("cat gate"), {"text": "Done."}]
    async with house(tmp_path, script) as h:
        os.mkfifo(h.workspace / "gate")
        async with await h.client() as client:
            session = await new_session(h, client, model=SMALL)
            attachment = await client.attach(session)
            await client.send(session, "what was asked")
            await until(attachment, lambda event: isinstance(event, e.ToolStarted) and "gate" in event.summary)
            # A change of the instructions builds what the model is shown anew.
            change = SettingsChange(instructions="Be brief.")
            await ask(client, SessionUpdate, session=session, settings=change)
            await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
            completed, _ = await attachment.until_turn_ends()
        assert completed.text == "Done."
        assert "what was asked" in h.sim.requests[-1].body
        assert "Be brief." in h.sim.requests[-1].body


async def test_a_result_is_cut_to_a_small_window_with_a_word_to_the_model(tmp_path: Path) -> None:
    script = [shell("head -c 30000 /dev/zero | tr '\\0' x"), {"text": "Done."}]
    async with house(tmp_path, script) as h, await h.client() as client:
        completed, _ = await turn(client, await client.attach(await new_session(h, client, model=SMALL)))
        assert completed.text == "Done."
        assert "characters are left out here" in h.sim.requests[-1].body
        assert h.sim.requests[-1].body.count("x" * 100) < 50
