"""How the daemon and its machine are doing, for those who follow it."""

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from openagent.protocol.events import Metrics

if TYPE_CHECKING:
    from openagent.daemon.bus import EventBus
    from openagent.daemon.connection import Connection
    from openagent.daemon.manager import SessionManager

INTERVAL = 2.0
_IDLE_COLUMNS = (3, 4)
"""Of /proc/stat: idle, and waiting for a disk."""
_PATIENCE_S = 5.0
_FREE_PAGES = re.compile(r"^Pages (?:free|inactive|speculative):\s+(\d+)", re.MULTILINE)
_PAGE_SIZE = re.compile(r"page size of (\d+) bytes")


class LiveMetrics:
    def __init__(
        self,
        manager: "SessionManager",
        bus: "EventBus",
        connections: "set[Connection]",
        running: Callable[[], int],
    ) -> None:
        """`running`: the turns of all daemons that work as one."""
        self._manager = manager
        self._running = running
        self._bus = bus
        self._connections = connections
        self._own, self._at = time.process_time(), time.monotonic()
        self._processors = _Processors()

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            if self._bus.is_followed:
                self._bus.publish(await self.measure())

    async def measure(self) -> Metrics:
        """Processors since the last time."""
        own, at = time.process_time(), time.monotonic()
        percent = 100 * (own - self._own) / max(at - self._at, 0.001)
        self._own, self._at = own, at
        used, total = _machine_memory()
        store = self._manager.runtime.store
        today = await store.usage_totals(since=_midnight())
        return Metrics(
            at=time.time(),
            sessions=await store.count_sessions(),
            running=self._running(),
            clients=len(self._connections),
            rss_bytes=rss_bytes(),
            cpu_percent=round(percent, 1),
            spend_today_usd=today.cost_usd,
            unpriced_today=today.unpriced,
            tokens_today=today.tokens.input_tokens + today.tokens.output_tokens,
            system_cpu_percent=round(min(self._processors.percent(), 100.0), 1),
            system_memory_bytes=used,
            system_memory_total_bytes=total,
        )


def rss_bytes() -> int:
    """0 where nobody tells."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except FileNotFoundError:
        told = _told("ps", "-o", "rss=", "-p", str(os.getpid())).strip()
        return int(told) * 1024 if told.isdigit() else 0


def _told(*words: str) -> str:
    """What a small program says; nothing where it is not."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


class _Processors:
    def __init__(self) -> None:
        self._last = _machine_time()

    def percent(self) -> float:
        """Since the last time. Where nobody counts: the programs that wanted a processor in the last minute, of as many
        as there are."""
        now = _machine_time()
        if now is None or self._last is None:
            return 100 * os.getloadavg()[0] / (os.cpu_count() or 1)
        (busy, everything), (busy_before, before) = now, self._last
        self._last = now
        return 100 * (busy - busy_before) / max(everything - before, 1)


def _machine_time() -> tuple[int, int] | None:
    """Busy and altogether, in ticks of all processors; None where they are not counted."""
    try:
        with open("/proc/stat") as stat:
            columns = [int(each) for each in stat.readline().split()[1:9]]
    except FileNotFoundError:
        return None
    return sum(columns) - sum(columns[column] for column in _IDLE_COLUMNS), sum(columns)


def _machine_memory() -> tuple[int, int]:
    found: dict[str, int] = {}
    try:
        with open("/proc/meminfo") as meminfo:
            for line in meminfo:
                name, _, rest = line.partition(":")
                found[name] = int(rest.split()[0]) * 1024
    except FileNotFoundError:
        return _macos_memory()
    return found["MemTotal"] - found["MemAvailable"], found["MemTotal"]


def _macos_memory() -> tuple[int, int]:
    """0 is used where nobody tells what is free."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    told = _told("vm_stat")
    page = _PAGE_SIZE.search(told)
    free = sum(map(int, _FREE_PAGES.findall(told))) * int(page[1]) if page else total
    return max(total - free, 0), total


def _midnight() -> float:
    now = time.localtime()
    return time.mktime((now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1))
