"""A daemon that is killed in the middle of a turn, and the way back to before that turn."""

import asyncio
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.protocol import events as e
from openagent.protocol.safety import AuditAsk
from openagent.protocol.undo import SessionUndo

from .binary import binary

pytestmark = pytest.mark.anyio

DAMAGE = "rm kept.txt; echo x > new.txt; echo changed > edited.txt; touch done; sleep 60"
SCRIPT = [{"tool_calls": [{"name": "shell", "arguments": {"command": DAMAGE}}]}, {"text": "Still here."}]


async def test_a_turn_that_a_crash_cut_off_can_be_rewound(tmp_path: Path) -> None:
    async with Simulator(SCRIPT) as sim:
        with binary(tmp_path, sim.base_url) as program:
            (program.workspace / "kept.txt").write_bytes(b"kept\x00\r\n")
            (program.workspace / "edited.txt").write_text("original")
            daemon = await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                cwd = str(program.workspace)
                session = (await client.create_session(cwd, model="compatible/scripted", mode="full")).id
                await client.send(session, "break it")
                async with asyncio.timeout(30):
                    while not (program.workspace / "done").exists():
                        await asyncio.sleep(0.02)
                daemon.kill()
                daemon.wait()
            program.daemons.remove(daemon)
            await asyncio.to_thread(program.serve)
            async with await program.client() as client:
                op = SessionUndo(id="r", session=session, turn=1, conversation=True)
                done = await client.request(op)
                found = {path.name: path.read_bytes() for path in program.workspace.iterdir()}
                assert found == {"kept.txt": b"kept\x00\r\n", "edited.txt": b"original"}
                assert (sorted(done.removed), done.kept) == (["done", "new.txt"], [])
                page = await client.request(AuditAsk(id="a", session=session, kind="rewind"))
                assert [row.subject for row in page.entries] == ["turn 1"]
                attachment = await client.attach(session, after=0)
                async for event in attachment.events():
                    if isinstance(event, e.TurnCompleted):
                        assert event.reason == "interrupted"
                        break
