"""The real program, killed while sub-agents are at work."""

import asyncio
import signal
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.agents import AgentsList, AgentTree
from openagent.protocol.ops import WorkspacesMerge
from openagent.protocol.workspaces import WorkspaceMerged
from openagent.simulator import Simulator

from ..e2e.binary import binary
from ..interaction.doing import ask, results_of, turn, write
from ..interaction.house import until
from .test_subagents import agents, remove_copies, script, talk

pytestmark = pytest.mark.anyio
MODEL = "openai/gpt-5"


async def test_edits_stay_in_their_copies_and_the_caller_is_told_and_goes_on(tmp_path: Path) -> None:
    plan = script(
        talk("hang one", write("one.txt", "one\n"), {"text": "never", "fault": "stall"}),
        talk("hang two", write("two.txt", "two\n"), {"text": "never", "fault": "stall"}),
        talk("begin", agents(("coder", "hang one"), ("coder", "hang two")), {"text": "on we go"}),
    )
    async with Simulator(plan) as sim:
        with binary(tmp_path, sim.base_url) as program:
            daemon = await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                root = (await client.create_session(str(program.workspace), model=MODEL, mode="full")).id
                attachment = await client.attach(root)
                await client.send(root, "begin")
                children = [
                    event.child
                    for _ in range(2)
                    for event in await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
                    if isinstance(event, e.SubagentStarted)
                ]
                for child in children:
                    await until(await client.attach(child, after=0), lambda event: isinstance(event, e.ToolFinished))
            daemon.kill()
            daemon.wait()

            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await client.attach(root, after=0)
                told = await until(attachment, lambda event: isinstance(event, e.SubagentFinished))
                told += await until(attachment, lambda event: isinstance(event, e.SubagentFinished))
                ends = [event for event in told if isinstance(event, e.SubagentFinished)]
                assert {(event.reason, bool(event.copy)) for event in ends} == {("interrupted", True)}
                assert "Interrupted" in (await results_of(client, root))[0].text
                family = (await ask(client, AgentsList, AgentTree, session=root)).agents
                assert [each.running for each in family] == [False, False, False]
                assert {each.ended for each in family} == {"interrupted"}
                shown = await asyncio.to_thread(program.run, "agents", root)
                assert shown.stdout.count("interrupted") == 2, shown
                for each in family[1:]:
                    merged = await ask(client, WorkspacesMerge, WorkspaceMerged, copy=each.copy)
                    assert (len(merged.applied), merged.conflicts) == (1, [])
                assert (program.workspace / "one.txt").read_text() == "one\n"
                assert (program.workspace / "two.txt").read_text() == "two\n"
                completed, _ = await turn(client, await client.attach(root), "and now?")
                assert completed.text == "on we go"
                await remove_copies(client)


async def test_no_copy_stays_mounted_when_the_daemon_is_stopped_in_the_middle_of_work(tmp_path: Path) -> None:
    """Nor does what a killed one left, once another was started and stopped."""
    plan = script(
        talk("hang", write("one.txt", "one\n"), {"text": "never", "fault": "stall"}),
        talk("begin", agents(("coder", "hang")), {"text": "on we go"}),
    )
    async with Simulator(plan) as sim:
        with binary(tmp_path, sim.base_url) as program:
            for end in (signal.SIGTERM, signal.SIGKILL):
                daemon = await asyncio.to_thread(program.serve)
                async with await program.client() as client:
                    root = (await client.create_session(str(program.workspace), model=MODEL, mode="full")).id
                    attachment = await client.attach(root)
                    await client.send(root, "begin")
                    (*_, started) = await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
                    assert isinstance(started, e.SubagentStarted)
                    child = await client.attach(started.child, after=0)
                    await until(child, lambda event: isinstance(event, e.ToolFinished))
                daemon.send_signal(end)
                await asyncio.to_thread(daemon.wait)
                if end == signal.SIGKILL:
                    again = await asyncio.to_thread(program.serve)
                    async with await program.client() as client:
                        await client.attach(root)
                    again.terminate()
                    await asyncio.to_thread(again.wait)
                assert str(program.data) not in Path("/proc/self/mountinfo").read_text()
