"""How agents perform and what they cost."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, ReadingOp
from openagent.protocol.routes import GET
from openagent.protocol.sessions import Status
from openagent.protocol.usage import SessionUsage, UsageRow

MetricsFormat = Literal["prometheus", "openmetrics", "influx"]


class JailUse(Struct, frozen=True, omit_defaults=True):
    """What the processes in a session's jail use right now."""

    processes: int = 0
    """How many there are."""
    memory_bytes: int = 0
    """What they hold in memory, in bytes; what they share is counted for each."""
    cpu_seconds: float = 0.0
    """Processor time of those that live, and of those they have waited for."""


class AgentMetrics(Struct, frozen=True, omit_defaults=True):
    """How an agent performs."""

    id: str
    """The session's id."""
    name: str
    """The session's name."""
    status: Status
    """What it is doing."""
    uptime_s: float
    """Since it was made."""
    messages: int
    """How many messages it has."""
    turns: int
    """How many turns it has had."""
    usage: SessionUsage
    """What it has used so far."""
    avg_response_ms: float = 0.0
    """Of its newest answers, like what follows."""
    tokens_per_second: float = 0.0
    """How fast its answers come."""
    tools_used: dict[str, int] = {}
    """How often it called each tool."""
    error_rate: float = 0.0
    """Share of its newest turns and tool calls that failed, from 0 to 1."""
    failed_turns: int = 0
    """How many of its newest turns ended in an error."""
    template: str = ""
    """The template it was made from; empty: none."""
    parent: str = ""
    """The session it works for; empty: for a person."""
    model: str = ""
    """What gave its newest answer."""
    jail: JailUse | None = None
    """What its commands use; null: it has no shell open."""


class AgentsMetrics(Struct, frozen=True):
    """How agents perform."""

    agents: list[AgentMetrics]
    """Those last active."""


class CostAnalysis(Struct, frozen=True):
    """What was spent."""

    days: int
    """How many days are looked at."""
    total_usd: float
    """What was spent in these days, in dollars."""
    today_usd: float
    """What was spent today, in dollars."""
    week_usd: float
    """The last seven days, today included."""
    projected_today_usd: float
    """What today will have cost at midnight, at its pace so far."""
    projected_month_usd: float
    """What this calendar month will have cost: what was spent, today to its end, and days like the last seven."""
    by_model: list[UsageRow]
    """By model."""
    by_day: list[UsageRow]
    """By day."""
    by_activity: list[UsageRow]
    """By what it was spent on."""
    unpriced: int = 0
    """Requests of these days that the sums leave out, because their model's price is not known."""
    unpriced_today: int = 0
    """Such requests today."""
    unpriced_week: int = 0
    """Such requests in the last seven days."""
    unpriced_month: int = 0
    """Such requests in this calendar month."""
    tokens_today: int = 0
    """Tokens that were sent and received today."""


class MetricsAgents(
    ReadingOp[AgentsMetrics],
    tag="metrics.agents",
    needs="read",
    reach="filtered",
    waits=True,
    routes=GET("/api/metrics/agents"),
):
    """How the agents that were last active perform."""

    limit: int = 20
    """How many agents at most."""


class MetricsCost(
    ReadingOp[CostAnalysis],
    tag="metrics.cost",
    needs="read",
    reach="whole",
    waits=True,
    routes=GET("/api/metrics/cost-analysis"),
):
    """What was spent, on what, and where it is heading."""

    days: int = 30
    """How many days to look at, today included."""


class MetricsText(Struct, frozen=True):
    """What the daemon counted, for a program that collects it."""

    content_type: str
    """The media type of the text."""
    text: str
    """In the format that was asked for."""


class MetricsExport(
    ReadingOp[MetricsText],
    tag="metrics.export",
    needs="read",
    reach="whole",
    waits=True,
    routes=GET("/api/metrics"),
):
    """What the daemon counted since its start, as monitoring systems collect it."""

    format: MetricsFormat = "prometheus"
    """Prometheus' text, OpenMetrics, or InfluxDB's line protocol."""


class MetricsSubscribe(ReadingOp[Done], tag="metrics.subscribe", needs="read", reach="whole"):
    """Have `metrics` events sent to this connection at a pace of its own, with how single agents do. For charts that
    are drawn live; each call replaces the one before."""

    agents: list[str] = []
    """The agents to tell of, by their sessions' ids, at most 100."""
    every: float = 2.0
    """Seconds from one event to the next, 0.5 at the least."""
    on: bool = True
    """False: stop."""
