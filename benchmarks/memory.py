"""The daemon's memory: idle, and with twenty sessions that take fifty steps each at once."""

import asyncio
import time

from benchmarks.effort import Effort
from benchmarks.model import STEPS, usual_script
from benchmarks.processes import memory_mb
from benchmarks.rows import Row, row
from benchmarks.stage import Stage, stage_with
from openagent.protocol.events import TurnCompleted

SESSIONS = 20


def memory(effort: Effort) -> list[Row]:
    del effort  # twenty times fifty steps are the measure, however quick one wants to be
    with stage_with(usual_script()) as (stage, _):
        pid = stage.start()
        idle = memory_mb(pid)
        began = time.perf_counter()
        ends = asyncio.run(_all_at_once(stage))
        took = time.perf_counter() - began
        peak = memory_mb(pid, "VmHWM")
        after = memory_mb(pid)
    failed = sum(end.reason != "done" or end.steps != STEPS + 1 for end in ends)
    return [
        row("daemon's memory, idle", idle, "MB", at_most=100, note="after a first answer"),
        row("daemon's memory, 20 busy sessions, peak", peak, "MB", at_most=300, note=f"{after:.0f} MB afterwards"),
        row("errors in 20 sessions x 50 steps", failed, "", at_most=0),
        row("steps a second, 20 sessions", SESSIONS * (STEPS + 1) / took, "/s"),
    ]


async def _all_at_once(stage: Stage) -> list[TurnCompleted]:
    async def one() -> TurnCompleted:
        async with await stage.client() as client:
            session = await stage.new_session(client)
            attachment = await client.attach(session, messages=0)
            await client.send(session, "T3")
            return (await attachment.until_turn_ends())[0]

    return await asyncio.gather(*(one() for _ in range(SESSIONS)))
