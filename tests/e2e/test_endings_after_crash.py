"""A daemon that is killed in the middle of a turn: what became of each call is told as it was."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.messages import ToolResultPart
from openagent.protocol.ops import MessagePage, MessagesPage
from openagent.simulator import Simulator

from .binary import Binary, binary

pytestmark = pytest.mark.anyio


def calls(*made: tuple[str, dict[str, str]]) -> dict[str, object]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in made]}


WRITE = ("write_file", {"path": "made.txt", "content": "made"})


async def begin(client: Client, program: Binary, mode: str) -> Attachment:
    cwd = str(program.workspace)
    session = (await client.create_session(cwd, model="compatible/scripted", mode=mode)).id
    attachment = await client.attach(session)
    await client.send(session, "go")
    return attachment


async def until(attachment: Attachment, wanted: Callable[[e.Event], bool]) -> None:
    async with asyncio.timeout(30):
        async for event in attachment.events():
            if wanted(event):
                return


async def kill(program: Binary) -> None:
    daemon = program.daemons.pop()
    daemon.kill()
    await asyncio.to_thread(daemon.wait)


async def results(client: Client, session: str) -> list[ToolResultPart]:
    page = await client.request(MessagesPage(id=client.next_id(), session=session), MessagePage)
    assert [end.reason for end in page.turns] == ["interrupted"]
    return [part for message in page.messages for part in message.parts if isinstance(part, ToolResultPart)]


async def test_a_call_that_waited_for_approval_is_told_as_never_run(tmp_path: Path) -> None:
    async with Simulator([calls(WRITE), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await begin(client, program, "ask")
                await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                (result,) = await results(client, attachment.session)
                assert (result.ended, result.reason) == ("not_run", "the daemon stopped before approval")
                assert "Not run" in result.text
                back = await client.attach(attachment.session)
                assert back.snapshot is not None
                assert back.snapshot.permissions == []
                await client.send(back.session, "go on")
                completed, _ = await back.until_turn_ends()
                assert completed.reason == "done", completed.error
            assert not (program.workspace / "made.txt").exists()


async def test_a_call_that_ran_is_told_as_interrupted_and_the_one_after_it_as_never_run(tmp_path: Path) -> None:
    running = ("shell", {"command": "touch begun; sleep 60"})
    async with Simulator([calls(running, WRITE, ("read_file", {"path": "x"})), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await begin(client, program, "full")
                async with asyncio.timeout(30):
                    while not (program.workspace / "begun").exists():
                        await asyncio.sleep(0.02)
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                found = await results(client, attachment.session)
                assert [result.ended for result in found] == ["interrupted", "not_run", "not_run"]
                assert "unknown" in found[0].reason


async def test_a_question_that_nobody_could_answer_any_more_is_told_as_such(tmp_path: Path) -> None:
    question = ("ask_user", {"question": "Which one?"})
    async with Simulator([calls(question), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await begin(client, program, "full")
                await until(attachment, lambda event: isinstance(event, e.QuestionAsked))
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                (result,) = await results(client, attachment.session)
                assert (result.ended, "question" in result.reason) == ("interrupted", True)
