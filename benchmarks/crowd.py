"""Fifty sessions that work at once: how long an event takes from the moment it was made to whoever is attached."""

import asyncio
import json
import subprocess
import sys

from benchmarks.effort import Effort
from benchmarks.model import shell_step
from benchmarks.processes import cpu_seconds
from benchmarks.rows import Row, percentile, row
from benchmarks.stage import Stage, stage_with

SESSIONS = 50


def crowd(effort: Effort) -> list[Row]:
    steps = [shell_step(f"echo hi {number}") for number in range(effort.crowd_steps)]
    with stage_with({"referee": False, "steps": [*steps, {"text": "Done."}]}) as (stage, _):
        pid = stage.start()
        before = cpu_seconds(pid)
        lags, took = asyncio.run(_work(stage))
        spent = cpu_seconds(pid) - before
    asked = SESSIONS * (effort.crowd_steps + 1)
    note = f"{SESSIONS} sessions x {effort.crowd_steps} shell calls, {len(lags):,} events in {took:.1f} s"
    return [
        row("event lag, 50 busy sessions, p50", percentile(lags, 0.5), "ms", best=min(lags), note=note),
        row("event lag, 50 busy sessions, p99", percentile(lags, 0.99), "ms", at_most=50),
        row("daemon's CPU time per step, 50 sessions", 1000 * spent / asked, "ms", note="shells being opened included"),
    ]


async def _work(stage: Stage) -> tuple[list[float], float]:
    async with await stage.client() as client:
        sessions = [await stage.new_session(client) for _ in range(SESSIONS)]
        command = [sys.executable, "-m", "benchmarks.lag_listener", stage.socket, *sessions]
        listener = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, limit=1 << 26)
        assert listener.stdout is not None
        try:
            await listener.stdout.readline()
            for session in sessions:
                await client.send(session, "go")
            heard = json.loads(await listener.stdout.readline())
        finally:
            if listener.returncode is None:
                listener.kill()
            await listener.wait()
    return heard["lags"], heard["took"]
