"""How the daemon and its machine are doing, for those who follow it."""

import asyncio
import os
import time
from typing import TYPE_CHECKING

from openagent.protocol.events import Metrics

if TYPE_CHECKING:
    from openagent.daemon.bus import EventBus
    from openagent.daemon.connection import Connection
    from openagent.daemon.manager import SessionManager

INTERVAL = 2.0
_IDLE_COLUMNS = (3, 4)
"""Of /proc/stat: idle, and waiting for a disk."""


class LiveMetrics:
    def __init__(self, manager: "SessionManager", bus: "EventBus", connections: "set[Connection]") -> None:
        self._manager = manager
        self._bus = bus
        self._connections = connections
        self._own, self._at = time.process_time(), time.monotonic()
        self._busy, self._all = _machine_time()

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            if self._bus.is_followed:
                self._bus.publish(await self.measure())

    async def measure(self) -> Metrics:
        """Processors since the last time."""
        own, at = time.process_time(), time.monotonic()
        busy, everything = _machine_time()
        percent = 100 * (own - self._own) / max(at - self._at, 0.001)
        machine = 100 * (busy - self._busy) / max(everything - self._all, 1)
        self._own, self._at, self._busy, self._all = own, at, busy, everything
        used, total = _machine_memory()
        store = self._manager.runtime.store
        today = await store.usage_totals(since=_midnight())
        return Metrics(
            at=time.time(),
            sessions=await store.count_sessions(),
            running=self._manager.running,
            clients=len(self._connections),
            rss_bytes=rss_bytes(),
            cpu_percent=round(percent, 1),
            spend_today_usd=today.cost_usd,
            unpriced_today=today.unpriced,
            tokens_today=today.tokens.input_tokens + today.tokens.output_tokens,
            system_cpu_percent=round(min(machine, 100.0), 1),
            system_memory_bytes=used,
            system_memory_total_bytes=total,
        )


def rss_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def _machine_time() -> tuple[int, int]:
    """Busy and altogether, in ticks of all processors."""
    with open("/proc/stat") as stat:
        columns = [int(each) for each in stat.readline().split()[1:9]]
    return sum(columns) - sum(columns[column] for column in _IDLE_COLUMNS), sum(columns)


def _machine_memory() -> tuple[int, int]:
    found: dict[str, int] = {}
    with open("/proc/meminfo") as meminfo:
        for line in meminfo:
            name, _, rest = line.partition(":")
            found[name] = int(rest.split()[0]) * 1024
    return found["MemTotal"] - found["MemAvailable"], found["MemTotal"]


def _midnight() -> float:
    now = time.localtime()
    return time.mktime((now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1))
