"""Calls that a server carries out as tasks."""

import shutil
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.conversation import TurnCancel
from openagent.protocol.mcp import McpTest

from ..interaction.doing import ask, call, one_turn, results_of, turn
from ..interaction.house import house, new_session, until
from .bench import plant
from .test_beyond_tools import said_to
from .test_real_servers import EVERYTHING, into_workspace, npm

__all__ = ["npm"]
pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("npm")]

SERVER = Path(__file__).with_name("task_server.py")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    plant(tmp_path, works={"command": "python3", "args": [SERVER.name], "start_timeout": 100})
    shutil.copy(SERVER, tmp_path / "workspace")
    return tmp_path


async def test_a_task_is_looked_after_and_its_result_is_the_calls(planted: Path) -> None:
    script = [call("slow"), call("fails"), call("early"), {"text": "ok"}]
    async with house(planted, script) as h, await h.client() as client:
        await ask(client, McpTest, cwd=str(h.workspace))
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        done, failed, early = await results_of(client, session)
        assert (done.text, done.is_error) == ("slow is done", False)
        assert (failed.text, failed.is_error) == ("It broke.", True)
        assert (early.text, early.is_error) == ("early is done", False)
        said = [event.text for event in seen if isinstance(event, e.ToolOutput) and event.stream == "progress"]
        assert "1 of 3\n" in said


async def test_what_a_task_asks_is_asked_in_the_session_of_its_call(planted: Path) -> None:
    async with house(planted, [call("choose"), {"text": "ok"}]) as h, await h.client(interactive=True) as client:
        await ask(client, McpTest, cwd=str(h.workspace))
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        assert "Which?" in (await said_to(client, attachment, "blue")).question.text
        await attachment.until_turn_ends()
        (chosen,) = await results_of(client, attachment.session)
        assert chosen.text == '{"action": "accept", "content": {"colour": "blue"}}'


async def test_a_turn_that_is_cancelled_cancels_its_task(planted: Path) -> None:
    script = [call("endless"), call("cancelled"), {"text": "ok"}]
    async with house(planted, script) as h, await h.client() as client:
        await ask(client, McpTest, cwd=str(h.workspace))
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        await ask(client, TurnCancel, session=attachment.session)
        await attachment.until_turn_ends()
        await turn(client, attachment, "and now?")
        assert (await results_of(client, attachment.session))[-1].text == "endless-0"


async def test_a_real_servers_task_is_done_as_one(npm: Path, tmp_path: Path) -> None:
    plant(tmp_path, everything={"command": "node", "args": [EVERYTHING], "start_timeout": 100})
    into_workspace(npm, tmp_path)
    script = [call("simulate-research-query", topic="tides"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        await ask(client, McpTest, cwd=str(h.workspace))
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        completed, _ = await attachment.until_turn_ends()  # it takes its time: four stages
        assert completed.reason == "done"
        (researched,) = await results_of(client, attachment.session)
        assert not researched.is_error
        assert "tides" in researched.text
