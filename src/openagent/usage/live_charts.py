"""`metrics.subscribe`: figures for charts that are drawn live, to each connection at its own pace."""

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.live_metrics import LiveMetrics
from openagent.protocol.metrics import MetricsSubscribe
from openagent.protocol.op import Done
from openagent.usage.metrics import MOST_AGENTS, MetricsService

SHORTEST = 0.5
"""Seconds: what changes faster is told by events of its own."""


class LiveCharts:
    def __init__(self, metrics: MetricsService, live: Callable[[], LiveMetrics]) -> None:
        self._metrics = metrics
        self._live = live
        self._telling: WeakKeyDictionary[Connection, asyncio.Task[None]] = WeakKeyDictionary()

    def handlers(self) -> list[Handler]:
        return [MetricsSubscribe.handled_by(self._subscribe)]

    async def close(self) -> None:
        telling = list(self._telling.values())
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)

    async def _subscribe(self, connection: Connection, op: MetricsSubscribe) -> Done:
        if (before := self._telling.pop(connection, None)) is not None:
            before.cancel()
        if op.on:
            self._telling[connection] = asyncio.create_task(self._tell(connection, op))
        return Done()

    async def _tell(self, connection: Connection, op: MetricsSubscribe) -> None:
        live = self._live()
        while True:
            await asyncio.sleep(max(op.every, SHORTEST))
            if connection.closed:
                return
            agents = await self._metrics.of_agents(op.agents[:MOST_AGENTS])
            connection.tell(replace(await live.measure(), op_id=op.id, agents=agents))
