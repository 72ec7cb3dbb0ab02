"""The real program, killed while sub-agents are at work."""

import asyncio
import signal
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.agents import AgentsList
from openagent.protocol.messages import NotePart
from openagent.protocol.workspaces import WorkspacesMerge

from ..e2e.binary import binary
from ..interaction.doing import ask, messages_of, results_of, shell, turn, write
from ..interaction.house import house_over, new_session, until
from .test_subagents import agents, is_started, of, remove_copies, script, talk

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
                family = (await ask(client, AgentsList, session=root)).agents
                assert [each.running for each in family] == [False, False, False]
                assert {each.ended for each in family} == {"interrupted"}
                shown = await asyncio.to_thread(program.run, "agents", root)
                assert shown.stdout.count("interrupted") == 3, shown
                for each in family[1:]:
                    merged = await ask(client, WorkspacesMerge, copy=each.copy)
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


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_what_died_in_the_background_is_told_once_to_people_and_to_the_model(
    tmp_path: Path, end: signal.Signals
) -> None:
    """A sub-agent that had written, one that waited its turn, and a command."""
    plan = script(
        talk("hang", write("half.txt", "half\n"), {"text": "never", "fault": "stall"}),
        talk(
            "begin",
            agents(("coder", "hang"), ("coder", "hang too"), background=True),
            shell("sleep 600"),
            {"text": "started"},
            {"text": "I see"},
            {"text": "and on"},
        ),
    )
    async with Simulator(plan) as sim:
        with binary(tmp_path, sim.base_url) as program:
            program.env |= {"OPENAGENT_AGENTS_MAX_PARALLEL": "1", "OPENAGENT_JAIL_BACKGROUND_AFTER": "0.2"}
            daemon = await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                root = (await client.create_session(str(program.workspace), model=MODEL, mode="full")).id
                attachment = await client.attach(root)
                await turn(client, attachment, "begin")
                (started,) = of(await until(await client.attach(root, after=0), is_started), e.SubagentStarted)
                child = await client.attach(started.child, after=0)
                await until(child, lambda event: isinstance(event, e.ToolFinished))
            daemon.send_signal(end)
            await asyncio.to_thread(daemon.wait)

            again = await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await client.attach(root, after=0)
                seen = await until(attachment, lambda event: isinstance(event, e.SubagentFinished))
                (finished,) = of(seen, e.SubagentFinished)
                assert (finished.child, finished.reason, bool(finished.copy)) == (started.child, "interrupted", True)
                family = (await ask(client, AgentsList, session=root)).agents
                assert [each.ended for each in family] == ["done", "interrupted"]
                (note,) = [each for each in await notes(client, root) if each.source == "background"]
                for line in (f"({started.child}) ended before it was done: hang\n", "the command bg1 was killed"):
                    assert line in note.text
                assert f"openagent workspaces merge {finished.copy}" in note.text
                assert "ended before it was done: hang too\n  It had not begun." in note.text
                shown = await asyncio.to_thread(program.run, "sessions", "show", root)
                assert f"openagent workspaces merge {finished.copy}" in shown.stdout
                completed, _ = await turn(client, await client.attach(root), "and now?")
                assert completed.text == "I see"
                assert "ended before it was done" in sim.requests[-1].body
            again.terminate()
            await asyncio.to_thread(again.wait)

            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                await turn(client, await client.attach(root), "and now?")
                assert [each.source for each in await notes(client, root)].count("background") == 1
                await remove_copies(client)


async def notes(client: Client, session: str) -> list[NotePart]:
    parts = [part for message in await messages_of(client, session) for part in message.parts]
    return [part for part in parts if isinstance(part, NotePart)]


async def test_what_ended_before_the_daemon_did_is_not_told_as_lost(tmp_path: Path) -> None:
    plan = script(
        talk("quick", {"text": "the finding"}),
        talk(
            "begin",
            agents(("researcher", "quick")),
            agents(("researcher", "quick"), background=True),
            shell("sleep 0.4"),
            {"text": "started"},
            {"text": "got it"},
            {"text": "on"},
            loop=True,
        ),
    )
    async with Simulator(plan) as sim:
        config = "[jail]\nbackground_after = 0.1\n"
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            root = await new_session(h, client)
            attachment = await client.attach(root)
            _, seen = await turn(client, attachment, "begin")
            ends = (e.BackgroundFinished, e.TurnCompleted)
            while not (of(seen, e.BackgroundFinished) and len(of(seen, e.TurnCompleted)) == 2):
                seen += await until(attachment, lambda event: isinstance(event, ends))
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            await turn(client, await client.attach(root), "and now?")
            assert [note for note in await notes(client, root) if note.source == "background"] == []
