"""How long an event takes from a provider's socket to everybody who is attached."""

import asyncio
import json
import subprocess
import sys

from benchmarks.effort import Effort
from benchmarks.model import serving
from benchmarks.rows import Row, percentile, row
from benchmarks.stage import Stage, stage_at, temporary_folder

SESSIONS = 20
CLIENTS = 3
PAUSE_MS = 20
"""Fifty chunks a second from each session: a fast model."""


def fan_out(effort: Effort) -> list[Row]:
    answer = ("benchmarks.ticking_model", str(effort.streamed_chunks), str(PAUSE_MS))
    with temporary_folder() as folder, serving(*answer) as url, stage_at(folder, url) as stage:
        stage.program("serve", "--daemon")
        delays = asyncio.run(_stream(stage))
    expected = SESSIONS * CLIENTS * effort.streamed_chunks
    note = f"{SESSIONS} sessions x {CLIENTS} clients, {1000 // PAUSE_MS} chunks a second each"
    return [
        row("provider to client, p50", percentile(delays, 0.5), "ms", best=min(delays), note=note),
        row("provider to client, p99", percentile(delays, 0.99), "ms", at_most=50),
        row("chunks that did not arrive", expected - len(delays), "", at_most=0, note=f"of {expected}"),
    ]


async def _stream(stage: Stage) -> list[float]:
    async with await stage.client() as client:
        sessions = [await stage.new_session(client) for _ in range(SESSIONS)]
        listeners = [_listener(stage, sessions) for _ in range(CLIENTS)]
        try:
            for listener in listeners:
                await asyncio.to_thread(_line, listener)
            for session in sessions:
                await client.send(session, "what time is it?")
            heard = [json.loads(await asyncio.to_thread(_line, listener)) for listener in listeners]
        finally:
            for listener in listeners:
                listener.kill()
                listener.communicate()
    return [delay for delays in heard for delay in delays]


def _listener(stage: Stage, sessions: list[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchmarks.listeners", stage.socket, *sessions]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()
