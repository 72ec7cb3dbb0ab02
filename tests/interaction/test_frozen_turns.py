"""What a turn uses stays what it was when the turn started."""

import asyncio
import os
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Client, connect
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionUpdate, SettingsChange

from .doing import answer, ask, asked, shell, turn
from .house import House, house, new_session, until

pytestmark = pytest.mark.anyio

FOLLOWS_THE_CLIENT = """
[providers.mine]
kind = "compatible"
base_url = "${OPENAI_BASE_URL:-http://127.0.0.1:9}/v1"
api_key = "k"
"""
MODEL = "mine/scripted"


async def client_of(house: House, sim: Simulator) -> Client:
    """From a terminal that wants its requests answered by `sim`."""
    return await connect(socket=house.daemon.place.socket, auto_start=False, env={"OPENAI_BASE_URL": sim.base_url})


async def test_whoever_attaches_does_not_change_where_a_running_turn_asks(tmp_path: Path) -> None:
    script = [shell("cat gate"), {"text": "Mine."}]
    async with Simulator(script) as other, house(tmp_path, script, config=FOLLOWS_THE_CLIENT) as h:
        os.mkfifo(h.workspace / "gate")
        async with await client_of(h, h.sim) as client, await client_of(h, other) as onlooker:
            session = await new_session(h, client, model=MODEL)
            attachment = await client.attach(session)
            await client.send(session, "go")
            await until(attachment, lambda event: isinstance(event, e.ToolStarted))
            await onlooker.attach(session)
            await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
            completed, _ = await attachment.until_turn_ends()
        assert (completed.reason, completed.text) == ("done", "Mine.")
        assert (len(h.sim.requests), len(other.requests)) == (2, 0)


async def test_a_queued_message_is_answered_in_its_senders_environment_and_not_before_its_turn(tmp_path: Path) -> None:
    script = [shell("cat gate"), {"text": "First."}, {"text": "Second."}]
    async with Simulator(script) as other, house(tmp_path, script, config=FOLLOWS_THE_CLIENT) as h:
        os.mkfifo(h.workspace / "gate")
        async with await client_of(h, h.sim) as client, await client_of(h, other) as colleague:
            session = await new_session(h, client, model=MODEL)
            attachment = await client.attach(session)
            await client.send(session, "go")
            await until(attachment, lambda event: isinstance(event, e.ToolStarted))
            assert (await colleague.send(session, "and then?")).queued
            await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
            first, _ = await attachment.until_turn_ends()
            second, _ = await attachment.until_turn_ends()
        assert (first.text, second.text) == ("First.", "Second.")
        assert (len(h.sim.requests), len(other.requests)) == (2, 1)


async def test_settings_that_change_in_mid_turn_hold_from_the_next_turn(tmp_path: Path) -> None:
    script = [shell("cat gate; sleep 1.1"), {"text": "First."}, {"text": "Second."}]
    async with Simulator(script) as other, house(tmp_path, script) as h, await h.client() as client:
        os.mkfifo(h.workspace / "gate")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        settings = h.home / "config.toml"
        settings.write_text(settings.read_text().replace(h.sim.base_url, other.base_url))
        await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
        completed, _ = await attachment.until_turn_ends()
        assert completed.text == "First."
        assert (len(h.sim.requests), len(other.requests)) == (2, 0)
        assert (await turn(client, attachment, "again"))[0].text == "Second."
        assert (len(h.sim.requests), len(other.requests)) == (2, 1)


async def test_a_model_that_a_person_chooses_in_mid_turn_answers_the_next_step_and_is_told(tmp_path: Path) -> None:
    async with (
        house(tmp_path, [shell("touch a"), {"text": "{model}"}]) as h,
        await h.client(interactive=True) as client,
    ):
        session = await new_session(h, client, mode="ask")
        attachment = await client.attach(session)
        await client.send(session, "go")
        asking = await asked(attachment)
        change = SettingsChange(model="compatible/better")
        await ask(client, SessionUpdate, session=session, settings=change)
        await answer(client, asking, decision="allow")
        completed, seen = await attachment.until_turn_ends()
        assert completed.text == "better"
        (updated,) = [event for event in seen if isinstance(event, e.SessionUpdated)]
        assert updated.info.settings.model == "compatible/better"
