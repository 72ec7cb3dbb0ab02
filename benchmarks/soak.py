"""A long life: three thousand turns over three hundred sessions, many more than the daemon keeps in memory."""

import asyncio

from benchmarks.effort import Effort
from benchmarks.processes import memory_mb
from benchmarks.rows import Row, row
from benchmarks.stage import Stage, stage_with
from openagent.client import Client
from openagent.protocol.sessions import SessionDelete

SIDE_BY_SIDE = 5
_SCRIPT = {
    "referee": False,
    "loop": True,
    "steps": [
        {"tool_calls": [{"name": "shell", "arguments": {"command": "seq 300"}}]},
        {"text": "Done. " + "It counted, and all was well. " * 30},
    ],
}


def soak(effort: Effort) -> list[Row]:
    sessions, rounds = effort.soak_sessions, effort.soak_rounds
    with stage_with(_SCRIPT) as (stage, _):
        pid = stage.start()
        sizes = asyncio.run(_live(stage, pid, sessions, rounds))
        after_deleting = memory_mb(pid)
    name = f"memory after {sessions * rounds:,} turns in {sessions} sessions"
    note = f"above the {sizes[0]:.0f} MB after the first {sessions}; {after_deleting:.0f} MB when all are deleted"
    return [row(name, sizes[-1] - sizes[0], "MB", at_most=5, note=note)]


async def _live(stage: Stage, pid: int, sessions: int, rounds: int) -> list[float]:
    """The daemon's memory after each tenth."""
    sizes: list[float] = []
    async with await stage.client() as client:
        names = [await stage.new_session(client) for _ in range(sessions)]
        for _ in range(rounds):
            waiting = list(names)
            await asyncio.gather(*(_work(client, waiting) for _ in range(SIDE_BY_SIDE)))
            sizes.append(memory_mb(pid))
        for name in names:
            await client.request(SessionDelete(id=client.next_id(), session=name))
    return sizes


async def _work(client: Client, waiting: list[str]) -> None:
    while waiting:
        attachment = await client.attach(waiting.pop(), messages=0)
        await client.send(attachment.session, "count")
        completed, _ = await attachment.until_turn_ends()
        if completed.reason != "done":
            raise RuntimeError(f"a turn ended with {completed.reason}: {completed.error}")
        await attachment.detach()
