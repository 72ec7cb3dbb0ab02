"""What monitoring systems collect: all that was counted, and how things stand at this moment. `metrics.export`.

Loads what writes it: made when first somebody asks.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence

from openagent import __version__
from openagent.core.session import Session
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.plugins.admission import Backlog
from openagent.protocol.metrics import JailUse, MetricsExport, MetricsFormat, MetricsText
from openagent.telemetry.exposition import written
from openagent.telemetry.instruments import Family
from openagent.telemetry.measures import Measures

MOST_SESSIONS = 20
"""Sessions that have time series of their own: those last active. A thousand would burden whoever keeps them."""


class Monitoring:
    def __init__(
        self,
        measures: Measures,
        manager: SessionManager,
        connections: Collection[Connection],
        started_at: float,
        mcp_servers: Callable[[], Sequence[str]],
        *,
        backlog: Callable[[], Awaitable[Backlog]] | None = None,
    ) -> None:
        """`mcp_servers` tells how each of them is; `backlog`, in a team, what runs and waits in all of it."""
        self._backlog = backlog
        self._mcp_servers = mcp_servers
        self._measures = measures
        self._manager = manager
        self._connections = connections
        self._started_at = started_at

    def handlers(self) -> list[Handler]:
        return [MetricsExport.handled_by(self._export)]

    async def _export(self, connection: Connection, op: MetricsExport) -> MetricsText:
        return await self.text(op.format)

    async def text(self, wanted: MetricsFormat) -> MetricsText:
        return await asyncio.to_thread(written, [*self._measures.families(), *await self._gauges()], wanted)

    async def _gauges(self) -> list[Family]:
        manager = self._manager
        store, loaded = manager.runtime.store, manager.all_loaded
        waiting = sum(each.waiting for each in self._connections)
        unsent = sum(each.unsent for each in self._connections)
        newest = sorted(loaded, key=lambda each: each.info.updated_at)[-MOST_SESSIONS:]
        kept, queued, used = await asyncio.gather(
            store.count_sessions(), store.count_queued(), asyncio.to_thread(_used, newest)
        )
        load = manager.runtime.admission.load()
        return [
            _one("openagent_build_info", "Which version runs.", 1, version=__version__),
            _one("openagent_start_time_seconds", "When the daemon started, since 1970.", self._started_at),
            _one("openagent_sessions", "Sessions that are kept.", kept),
            _counted("openagent_sessions_loaded", "Sessions in memory, by what they do.", _states(loaded), "idle"),
            _counted("openagent_mcp_servers", "MCP servers, by how they are.", self._mcp_servers(), "up"),
            _one("openagent_sessions_running", "Sessions with a turn under way.", manager.running),
            _one("openagent_queued_messages", "Messages that wait for a turn to end.", queued),
            _one(
                "openagent_turns_running",
                "Places for turns that are taken; sub-agents share their caller's.",
                load.running,
            ),
            _one("openagent_turns_waiting", "Sessions in line for a turn.", load.waiting),
            _one("openagent_turns_capacity", "Turns that may run at once; 0: as many as come.", load.at_once or 0),
            _one("openagent_turns_oldest_wait_seconds", "How long the first in line has waited.", load.oldest_s),
            _one("openagent_queued_ops", "Ops of clients that wait for those before them.", waiting),
            _one("openagent_open_asks", "Calls and questions that wait for a person.", _asks(loaded)),
            _one("openagent_clients", "Clients that are connected.", len(self._connections)),
            _one("openagent_client_unsent_bytes", "What clients have yet to take, all together.", unsent),
            *await self._of_team(),
            *_of_sessions(newest),
            *_of_jails(used),
        ]

    async def _of_team(self) -> list[Family]:
        if self._backlog is None:
            return []
        found = await self._backlog()
        return [
            _one(
                "openagent_team_turns_running", "Turns of the whole team; every daemon tells the same.", found.running
            ),
            _one("openagent_team_turns_waiting", "Sessions in line for a worker, likewise.", found.waiting),
            _one("openagent_team_oldest_wait_seconds", "How long the first of them has waited.", found.oldest_s),
        ]


def _one(name: str, about: str, value: float, **labels: str) -> Family:
    return Family(name, "gauge", about, tuple(labels), [(tuple(labels.values()), value)])


def _counted(name: str, about: str, found: Sequence[str], usual: str) -> Family:
    counted = Counter(found)
    rows = [((status,), float(counted[status])) for status in sorted({usual, *found})]
    return Family(name, "gauge", about, ("status",), rows)


def _states(loaded: Sequence[Session]) -> list[str]:
    return [session.info.status for session in loaded]


def _asks(loaded: Sequence[Session]) -> int:
    return sum(len(each.asks.permissions) + len(each.asks.questions) for each in loaded)


def _of_sessions(newest: Sequence[Session]) -> list[Family]:
    """How single agents do. Sums over all of them are in the counters."""
    labels = ("session", "template")

    def family(name: str, about: str, value: Callable[[Session], float]) -> Family:
        rows = [((each.id, each.info.template), value(each)) for each in newest]
        return Family(name, "gauge", f"{about} Of those last active.", labels, rows)

    def tokens(session: Session) -> float:
        used = session.info.usage.tokens
        return used.input_tokens + used.output_tokens

    return [
        family("openagent_session_tokens", "Tokens a session has used.", tokens),
        family("openagent_session_cost_usd", "Dollars a session has cost.", lambda each: each.info.usage.cost_usd),
        family("openagent_session_turns", "Turns a session has had.", lambda each: each.info.turn_count),
        family("openagent_session_messages", "Messages a session has.", lambda each: each.info.message_count),
        family("openagent_session_context_tokens", "How full it is.", lambda each: each.info.usage.context_tokens),
        family(
            "openagent_session_age_seconds",
            "Since a session was made.",
            lambda each: max(time.time() - each.info.created_at, 0.0),
        ),
    ]


def _used(sessions: Sequence[Session]) -> list[tuple[str, JailUse]]:
    return [(each.id, use) for each in sessions if (use := each.shell.use()) is not None]


def _of_jails(used: Sequence[tuple[str, JailUse]]) -> list[Family]:
    def family(name: str, about: str, value: Callable[[JailUse], float]) -> Family:
        return Family(name, "gauge", about, ("session",), [((session,), value(use)) for session, use in used])

    return [
        family("openagent_jail_processes", "Processes in a session's jail.", lambda use: use.processes),
        family("openagent_jail_memory_bytes", "Memory they hold.", lambda use: use.memory_bytes),
        family("openagent_jail_cpu_seconds", "Processor time they took.", lambda use: use.cpu_seconds),
    ]
