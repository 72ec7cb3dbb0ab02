"""kill -9 of the daemon at random moments: what was acknowledged is there, and the session goes on."""

import asyncio
import os
import random
import subprocess
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client, ConnectionLost
from openagent.protocol import events as e
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.messages import Message, ToolResultPart

from .binary import Binary, binary

pytestmark = pytest.mark.anyio

ROUNDS = int(os.environ.get("OPENAGENT_CRASH_ROUNDS", "40"))
SESSIONS_AT_ONCE = 2
LONGEST_LIFE = 0.22
"""Seconds after the first message within which the blow falls: a scripted turn takes about this long."""


def shell(command: str, **more: object) -> dict[str, object]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}], "chunk_ms": 2, **more}


TURN = [
    shell("echo one", thinking="Let me think about this for a moment.", text="Starting, slowly."),
    shell("sleep 0.03; echo two"),
    {
        "text": "Two at once.",
        "tool_calls": [
            {"name": "read_file", "arguments": {"path": "none.txt"}},
            {"name": "write_file", "arguments": {"path": "made.txt", "content": "made"}},
        ],
    },
    shell("cat made.txt", text="Nearly there."),
    {"text": "This is the end of it, told in a number of pieces.", "chunk_chars": 5, "chunk_ms": 3},
]
SCRIPT = {
    "conversations": [
        {"match": {"last_user": "after the crash"}, "loop": True, "steps": [{"text": "I am still here."}]},
        {"loop": True, "steps": TURN},
    ]
}


class Witness:
    """Remembers every message it was told of: those must be there afterwards."""

    def __init__(self) -> None:
        self.session = ""
        self.acknowledged: list[str] = []
        self.messages: dict[int, Message] = {}
        self.seq = 0

    async def watch(self, program: Binary, prompt: str) -> None:
        try:
            async with await program.client() as client:
                await self._turn(client, str(program.workspace), prompt)
        except (ConnectionLost, ConnectionError):
            pass  # the daemon was killed

    async def _turn(self, client: Client, cwd: str, prompt: str) -> None:
        info = await client.create_session(cwd, model="compatible/scripted", mode="full")
        self.session = info.id
        attachment = await client.attach(info.id)
        await client.send(info.id, prompt)
        self.acknowledged.append(prompt)
        await self._listen(attachment)

    async def _listen(self, attachment: Attachment) -> None:
        async for event in attachment.events():
            self.seq = max(self.seq, attachment.seq)
            if isinstance(event, e.MessageAdded):
                self.messages[event.message.number] = event.message

    async def check(self, client: Client) -> None:
        """Nothing acknowledged is lost, the history is whole, and a strict provider accepts it."""
        if not self.session:
            return
        attachment = await client.attach(self.session, after=self.seq)
        assert attachment.snapshot is None
        page = await client.request(MessagesPage(id=client.next_id(), session=self.session, limit=500))
        stored = {message.number: message for message in page.messages}
        for number, message in self.messages.items():
            assert stored[number] == message
        assert sorted(stored) == list(range(1, len(stored) + 1))
        said = [message.text for message in page.messages if message.role == "user"]
        assert said[: len(self.acknowledged)] == self.acknowledged
        _assert_calls_have_results(page.messages)
        await client.send(self.session, "after the crash")
        async with asyncio.timeout(30):
            ended = [event async for event in _completions(attachment)]
        assert (ended[-1].reason, ended[-1].text) == ("done", "I am still here."), ended[-1].error


async def _completions(attachment: Attachment):
    """The interrupted turn's end, if there was one, and the end of the turn after the crash."""
    async for event in attachment.events():
        if isinstance(event, e.TurnCompleted):
            yield event
            if event.reason == "done" and event.text == "I am still here.":
                return
            assert event.reason in ("interrupted", "done"), event.error


def _assert_calls_have_results(messages: list[Message]) -> None:
    calls = [call.id for message in messages for call in message.tool_calls]
    results = [part.call_id for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert sorted(calls) == sorted(results)


async def _start(program: Binary) -> "subprocess.Popen[bytes]":
    daemon = await asyncio.to_thread(program.serve)
    async with await program.client() as client:
        await client.request(DaemonStatus(id="ready"))
    return daemon


@pytest.mark.timeout(900)
async def test_kill_nine_at_random_moments_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(20261115)
    async with Simulator(SCRIPT) as sim:
        with binary(tmp_path, sim.base_url) as program:
            daemon = await _start(program)
            caught_in_a_turn = 0
            for _ in range(ROUNDS):
                witnesses = [Witness() for _ in range(SESSIONS_AT_ONCE)]
                watching = [asyncio.create_task(w.watch(program, f"prompt {n}")) for n, w in enumerate(witnesses)]
                await asyncio.sleep(chance.uniform(0.0, LONGEST_LIFE))
                daemon.kill()
                await asyncio.gather(*watching)
                daemon.wait()
                program.daemons.remove(daemon)
                caught_in_a_turn += any(w.messages for w in witnesses)
                daemon = await _start(program)
                async with await program.client() as client:
                    for witness in witnesses:
                        await witness.check(client)
            assert caught_in_a_turn > ROUNDS / 4
