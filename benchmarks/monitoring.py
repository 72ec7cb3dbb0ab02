"""What counting costs: its share of a run with fifty shell calls, and `/metrics` with a thousand sessions."""

import asyncio
import http.client
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from benchmarks.effort import Effort
from benchmarks.model import STEPS, usual_script
from benchmarks.rows import Row, median_row, milliseconds, row
from benchmarks.stage import Stage, stage_with
from openagent.plugins.provider import Answer, ModelInfo, ModelRequest, Provider, StreamItem, TextChunk
from openagent.protocol.events import Event
from openagent.protocol.tools import ToolRun
from openagent.protocol.usage import Usage
from openagent.telemetry.measures import Measures
from openagent.telemetry.traces import Traces
from openagent.telemetry.watched import Watched

SESSIONS = 1_000
AT_WORK = 20
"""Sessions with a shell of their own."""
ROUNDS = 200


def monitoring(effort: Effort) -> list[Row]:
    with stage_with(usual_script()) as (stage, _):
        stage.program("serve", "--daemon", "--web-socket", "127.0.0.1:0")
        stage.run("warm up")
        walls = [stage.run("T3") for _ in range(effort.long_runs)]
        heard = asyncio.run(_many_sessions(stage))
        scrapes = _scrapes(stage, max(effort.answers, 5))
    counting = _hearing(heard) + (STEPS + 1) * asyncio.run(_asking())
    share = 100 * counting / statistics.median(walls)
    return [
        row("counting, share of T3", share, "%", at_most=2, note=f"{1000 * counting:.2f} ms of processor time"),
        median_row("/metrics, 1,000 sessions", milliseconds(scrapes[1:]), "ms", at_most=20),
        row("/metrics, the first", 1000 * scrapes[0], "ms", note="loads what writes it"),
    ]


async def _many_sessions(stage: Stage) -> Sequence[Event]:
    """The events of a T3 run. A thousand sessions are there afterwards."""
    async with await stage.client() as client:
        sessions = [await stage.new_session(client) for _ in range(SESSIONS)]
        for session in sessions[-AT_WORK:]:
            opened = ToolRun(id=client.next_id(), session=session, tool="shell", arguments={"command": "true"})
            await client.request(opened)
        attachment = await client.attach(sessions[-1], messages=0)
        await client.send(sessions[-1], "T3")
        return (await attachment.until_turn_ends())[1]


def _hearing(heard: Sequence[Event]) -> float:
    """Processor seconds for all events of a run."""
    measures, traces = Measures(), Traces(lambda _: ("", ""), None)
    hearers: dict[type[Event], list[Callable[[Any], None]]] = {}
    for kind, hear in (*measures.hearers(), *traces.hearers()):
        hearers.setdefault(kind, []).append(hear)
    began = time.process_time()
    for _ in range(ROUNDS):
        for event in heard:
            for hear in hearers.get(type(event), ()):
                hear(event)
    return (time.process_time() - began) / ROUNDS


class _Quick:
    """Answers at once, in three pieces."""

    name, scripted = "quick", False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        for _ in range(2):
            yield TextChunk("word")
        yield Answer([], "end", Usage(1000, 10), request.model)

    async def models(self) -> list[ModelInfo]:
        return []

    async def close(self) -> None:
        pass


async def _asking() -> float:
    """Processor seconds that watching adds to a request."""
    plain = _Quick()
    watched = Watched(Measures(), Traces(lambda _: ("", ""), None)).provider(plain)
    return max(await _streamed(watched) - await _streamed(plain), 0.0)


async def _streamed(provider: Provider) -> float:
    request, times = ModelRequest(model="m", system="", messages=[]), ROUNDS * 50
    began = time.process_time()
    for _ in range(times):
        async with aclosing(provider.stream(request)) as items:
            async for item in items:
                if type(item) is Answer:
                    break
    return (time.process_time() - began) / times


def _scrapes(stage: Stage, times: int) -> list[float]:
    address = stage.status().web_url.removeprefix("http://")
    token = (stage.data / "token").read_text()
    line = http.client.HTTPConnection(address, timeout=60)
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        line.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        answer = line.getresponse()
        told = answer.read()
        took.append(time.perf_counter() - began)
        if answer.status != 200 or b"openagent_jail_processes{" not in told:
            raise RuntimeError(f"/metrics answers with {answer.status}: {told[:200]!r}")
    line.close()
    return took
