"""The real program, killed while commands run: the audit trail tells of them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol.safety import AuditAsk, AuditRow
from openagent.protocol.tools import ToolRun

from ..interaction.doing import ask, shell
from ..interaction.house import PATIENCE
from .binary import Binary, binary

pytestmark = pytest.mark.anyio


Start = Callable[[Client, str], Awaitable[None]]


async def until_exists(path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not path.exists():
            await asyncio.sleep(0.01)


async def trail(program: Binary, session: str) -> list[AuditRow]:
    async with await program.client() as client:
        await client.attach(session)  # a session is recovered when somebody wants it
        return (await ask(client, AuditAsk, session=session)).entries[::-1]


async def command_of_a_model(client: Client, session: str) -> None:
    await client.send(session, "go")


async def command_of_a_person(client: Client, session: str) -> None:
    run = ToolRun(id=client.next_id(), session=session, tool="shell", arguments={"command": "touch ran; sleep 100"})
    running = asyncio.create_task(client.request(run))
    running.add_done_callback(lambda task: task.cancelled() or task.exception())


@pytest.mark.parametrize("start", [command_of_a_model, command_of_a_person])
async def test_a_command_that_a_crash_cut_off_is_in_the_trail(tmp_path: Path, start: Start) -> None:
    async with Simulator([shell("touch ran; sleep 100"), {"text": "ok"}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            daemon = await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                session = (await client.create_session(str(program.workspace), model="openai/gpt-5", mode="full")).id
                await start(client, session)
                await until_exists(program.workspace / "ran")
                decided = await ask(client, AuditAsk, session=session, kind="decision")
                assert [row.subject for row in decided.entries] == ["touch ran; sleep 100"], "before its outcome"
                daemon.kill()
                daemon.wait()
            await asyncio.to_thread(program.serve)
            (command,) = [row for row in await trail(program, session) if row.kind == "command"]
            assert (command.subject, command.detail["ended"]) == ("touch ran; sleep 100", "interrupted")
            assert "effect is unknown" in command.detail["reason"]
            shown = await asyncio.to_thread(program.run, "audit", "--kind", "command")
            assert "cut off" in shown.stdout
