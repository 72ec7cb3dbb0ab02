"""A daemon that is killed in the middle of a turn: what became of each call is told as it was."""

import asyncio
import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client, connect
from openagent.protocol import events as e
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.messages import Message, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.queue import QueueResume
from openagent.protocol.sessions import SessionGet
from openagent.protocol.usage import UsageAsk
from tests.jail.conftest import needs_bwrap
from tests.jail.processes import appears, gone_within
from tests.mcp_host.bench import SCRIPTED

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
    page = await client.request(MessagesPage(id=client.next_id(), session=session))
    assert [end.reason for end in page.turns] == ["interrupted"]
    assert (await client.request(SessionGet(id=client.next_id(), session=session))).status == "interrupted"
    return [part for message in page.messages for part in message.parts if isinstance(part, ToolResultPart)]


async def asked_again(attachment: Attachment) -> e.PermissionRequested | e.QuestionAsked:
    assert attachment.snapshot is not None
    for ask in attachment.snapshot.permissions:
        return e.PermissionRequested(ask=ask)
    async with asyncio.timeout(30):
        async for event in attachment.events():
            if isinstance(event, e.PermissionRequested | e.QuestionAsked):
                return event
    raise AssertionError("nothing was asked")


async def deny(client: Client, attachment: Attachment) -> ToolResultPart:
    asked = await asked_again(attachment)
    assert isinstance(asked, e.PermissionRequested)
    await client.answer_permission(attachment.session, asked.ask.id, allow=False)
    completed, _ = await attachment.until_turn_ends()
    assert completed.reason == "done", completed.error
    page = await client.request(MessagesPage(id=client.next_id(), session=attachment.session))
    (result,) = [part for message in page.messages for part in message.parts if isinstance(part, ToolResultPart)]
    return result


async def test_a_call_that_waited_for_approval_is_asked_about_again_and_can_be_refused(tmp_path: Path) -> None:
    async with Simulator([calls(WRITE), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await begin(client, program, "ask")
                await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                back = await client.attach(attachment.session)
                result = await deny(client, back)
                assert (result.ended, result.reason) == ("denied", "the user said no")
            assert not (program.workspace / "made.txt").exists()


async def test_a_turn_that_is_stopped_while_it_is_asked_again_ends_like_any_other(tmp_path: Path) -> None:
    async with Simulator([calls(WRITE), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await begin(client, program, "ask")
                await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                back = await client.attach(attachment.session)
                await client.send(back.session, "something else")
                await asked_again(back)
                assert await client.cancel(back.session)
                page = await client.request(MessagesPage(id=client.next_id(), session=back.session))
                assert [end.reason for end in page.turns] == ["cancelled"]
                (result,) = [p for m in page.messages for p in m.parts if isinstance(p, ToolResultPart)]
                assert result.ended == "not_run"
                await client.request(QueueResume(id=client.next_id(), session=back.session))
                completed, _ = await back.until_turn_ends()
                if completed.reason == "cancelled":
                    completed, _ = await back.until_turn_ends()
                assert (completed.reason, completed.text) == ("done", "Fine.")


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


async def test_a_turn_that_is_taken_up_goes_on_with_the_key_of_whoever_answers(tmp_path: Path) -> None:
    async with Simulator([calls(WRITE), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            keys = {name: program.env.pop(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
            await asyncio.to_thread(program.serve)
            async with await connect(socket=program.socket, auto_start=False, env=keys) as client:
                attachment = await begin(client, program, "ask")
                await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await connect(socket=program.socket, auto_start=False, env=keys) as client:
                result = await deny(client, await client.attach(attachment.session))
                assert result.ended == "denied"


@needs_bwrap
async def test_a_command_that_waited_for_a_host_does_not_run_again_unasked(tmp_path: Path) -> None:
    running = ("shell", {"command": "echo begun >> begun; curl -sS --max-time 60 http://far.test/"})
    async with Simulator([calls(running), {"text": "Fine."}]) as sim:
        with binary(tmp_path, sim.base_url) as program:
            program.env["OPENAGENT_JAIL_KIND"] = "bwrap"
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                attachment = await begin(client, program, "auto")
                await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
                await kill(program)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                result = await deny(client, await client.attach(attachment.session))
                assert result.ended == "denied"
                assert "effect is unknown. It was not run again: the user said no." in result.text
        assert (program.workspace / "begun").read_text() == "begun\n"


ROUNDS = int(os.environ.get("OPENAGENT_STREAM_ROUNDS", "2"))
LIFE = (1.0, 2.5)
"""Seconds from the first word that is shown to the blow."""
THOUGHT, STORY = "Let me think. " * 15, "All work and no play makes a dull agent. " * 500
STREAMING = {
    "conversations": [
        {"match": {"last_user": "go on"}, "loop": True, "steps": [{"text": "I am still here."}]},
        {"match": {"last_user": "go"}, "loop": True, "steps": [{"thinking": THOUGHT, "text": STORY}]},
    ],
    "show_thinking": "always",
    "chunk_chars": 9,
    "chunk_ms": 10,
}


def said(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart | ThinkingPart))


class Watcher:
    """Remembers when it was shown what, as a person at the screen would."""

    def __init__(self, attachment: Attachment) -> None:
        self.session = attachment.session
        self.shown: list[tuple[float, str]] = []
        self.begun = asyncio.Event()
        self.task = asyncio.create_task(self._watch(attachment))

    async def _watch(self, attachment: Attachment) -> None:
        async for event in attachment.events():
            if isinstance(event, e.TextDelta | e.ThinkingDelta):
                self.shown.append((time.monotonic(), event.text))
                self.begun.set()

    def until(self, moment: float) -> str:
        return "".join(text for at, text in self.shown if at <= moment)


@pytest.mark.timeout(900)
async def test_of_what_was_streamed_at_most_the_last_second_is_lost_and_it_is_paid_for(tmp_path: Path) -> None:
    chance = random.Random(20261116)
    async with Simulator(STREAMING) as sim:
        with binary(tmp_path, sim.base_url) as program:
            program.data.mkdir(parents=True, exist_ok=True)
            (program.data / "config.toml").write_text('[prices."compatible/scripted"]\ninput = 1.0\noutput = 10.0\n')
            program.env["OPENAGENT_CONFIG"] = str(program.data / "config.toml")
            spent = 0.0
            await asyncio.to_thread(program.serve)
            for _ in range(ROUNDS):
                async with await program.client() as client:
                    watcher = Watcher(await begin(client, program, "full"))
                    await watcher.begun.wait()
                    await asyncio.sleep(chance.uniform(*LIFE))
                    killed_at = time.monotonic()
                    await kill(program)
                    await watcher.task
                await asyncio.to_thread(program.serve)
                async with await program.client() as client:
                    spent = await _check(client, watcher, killed_at, spent)


async def _check(client: Client, watcher: Watcher, killed_at: float, spent: float) -> float:
    attachment = await client.attach(watcher.session)
    assert attachment.snapshot is not None
    *_, answer = attachment.snapshot.messages
    assert (answer.role, answer.stop_reason) == ("assistant", "interrupted")
    kept = said(answer)
    assert (THOUGHT + STORY).startswith(kept)
    assert len(kept) >= len(watcher.until(killed_at - 1.0))
    (end,) = attachment.snapshot.turns
    assert answer.usage is not None
    assert answer.usage.estimated
    assert answer.usage.output_tokens > 0
    assert answer.cost_usd
    assert (end.reason, end.usage, end.cost_usd) == ("interrupted", answer.usage, answer.cost_usd)
    assert attachment.snapshot.info.usage.cost_usd == answer.cost_usd
    await client.send(watcher.session, "go on")
    completed, _ = await attachment.until_turn_ends()
    assert (completed.reason, completed.text) == ("done", "I am still here."), completed.error
    report = await client.request(UsageAsk(id=client.next_id(), by="model"))
    assert report.total.cost_usd == pytest.approx(spent + answer.cost_usd + completed.cost_usd)
    return report.total.cost_usd


@needs_bwrap
@pytest.mark.timeout(900)
async def test_a_daemon_that_is_killed_in_mid_stream_leaves_no_process_of_its_own(tmp_path: Path) -> None:
    marker = f"left-{tmp_path.name}-{os.getpid()}"
    sleeper = f"exec -a {marker} sleep 1000"
    steps = [calls(("shell", {"command": f"({sleeper}) & nohup setsid bash -c '{sleeper}' & true"})), {"text": STORY}]
    script = {**STREAMING, "conversations": [{"match": {"last_user": "go"}, "loop": True, "steps": steps}]}
    async with Simulator(script) as sim:
        with binary(tmp_path, sim.base_url) as program:
            program.env["OPENAGENT_JAIL_KIND"] = "bwrap"
            servers = {"demo": {"command": "python3", "args": ["scripted_server.py", "good", marker]}}
            program.data.mkdir()
            (program.data / "config.toml").touch()
            program.env["OPENAGENT_CONFIG"] = str(program.data / "config.toml")
            (program.data / "mcpServers.json").write_text(json.dumps({"mcpServers": servers}))
            shutil.copy(SCRIPTED, program.workspace)
            for _ in range(ROUNDS):
                await asyncio.to_thread(program.serve)
                async with await program.client() as client:
                    attachment = await begin(client, program, "full")
                    await until(attachment, lambda event: isinstance(event, e.TextDelta))
                    await appears(marker, 3)
                    await kill(program)
                assert await gone_within(marker, 5)
                assert await gone_within(str(tmp_path), 5)
