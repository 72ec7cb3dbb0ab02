"""How agents perform and what they cost."""

from msgspec import Struct

from openagent.protocol.op import ReadingOp
from openagent.protocol.routes import GET
from openagent.protocol.sessions import Status
from openagent.protocol.usage import SessionUsage, UsageRow


class AgentMetrics(Struct, frozen=True, omit_defaults=True):
    id: str
    name: str
    status: Status
    uptime_s: float
    """Since it was made."""
    messages: int
    turns: int
    usage: SessionUsage
    avg_response_ms: float = 0.0
    """Of its newest answers, like what follows."""
    tokens_per_second: float = 0.0
    tools_used: dict[str, int] = {}
    error_rate: float = 0.0
    """Share of tool calls that failed, from 0 to 1."""


class AgentsMetrics(Struct, frozen=True):
    agents: list[AgentMetrics]


class CostAnalysis(Struct, frozen=True):
    days: int
    total_usd: float
    today_usd: float
    week_usd: float
    """The last seven days, today included."""
    projected_month_usd: float
    """Thirty days like the last seven."""
    by_model: list[UsageRow]
    by_day: list[UsageRow]
    by_activity: list[UsageRow]


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
