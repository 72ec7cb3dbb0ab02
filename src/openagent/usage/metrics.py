"""How agents perform and what they cost: `metrics.*`."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import Store, UsageRecord
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.metrics import AgentMetrics, AgentsMetrics, CostAnalysis, MetricsAgents, MetricsCost
from openagent.protocol.sessions import SessionInfo
from openagent.telemetry.reports import usage_report
from openagent.telemetry.tokens import TokenUsage

MOST_AGENTS = 100
LONGEST_DAYS = 3660
_LOOKED_AT = 100
"""Messages of each agent."""
_MONTH = 30


class MetricsService:
    def __init__(self, store: Store) -> None:
        self._store = store

    def handlers(self) -> list[Handler]:
        return [
            MetricsAgents.handled_by(self._agents),
            MetricsCost.handled_by(self._cost),
        ]

    async def _agents(self, connection: Connection, op: MetricsAgents) -> AgentsMetrics:
        limit = min(max(op.limit, 1), MOST_AGENTS)
        sessions = await self._store.sessions(limit=limit, within=await connection.within())
        return AgentsMetrics(
            [_measured(info, await self._store.messages(info.id, limit=_LOOKED_AT)) for info in sessions]
        )

    async def _cost(self, connection: Connection, op: MetricsCost) -> CostAnalysis:
        days = min(max(op.days, 1), LONGEST_DAYS)
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        since = (midnight - timedelta(days=days - 1)).timestamp()
        rows = [_usage(row) for row in await self._store.usage_rows(since=since)]
        return await asyncio.to_thread(_analysis, rows, days, midnight)


def _analysis(rows: Sequence[TokenUsage], days: int, midnight: datetime) -> CostAnalysis:
    week_start = (midnight - timedelta(days=6)).timestamp()
    week = _spent(rows, week_start)
    return CostAnalysis(
        days=days,
        total_usd=_spent(rows, 0.0),
        today_usd=_spent(rows, midnight.timestamp()),
        week_usd=week,
        projected_month_usd=week / min(days, 7) * _MONTH,
        by_model=usage_report(rows, "model").rows,
        by_day=usage_report(rows, "day").rows,
        by_activity=usage_report(rows, "activity").rows,
    )


def _spent(rows: Sequence[TokenUsage], since: float) -> float:
    return sum(row.cost_usd or 0.0 for row in rows if row.at >= since)


def _measured(info: SessionInfo, messages: Sequence[Message]) -> AgentMetrics:
    answers = [message for message in messages if message.role == "assistant" and message.latency_ms]
    seconds = sum(message.latency_ms or 0.0 for message in answers) / 1000
    tokens = sum(message.usage.output_tokens for message in answers if message.usage)
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    results = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    return AgentMetrics(
        id=info.id,
        name=info.name,
        status=info.status,
        uptime_s=max(round(time.time() - info.created_at, 1), 0.0),
        messages=info.message_count,
        turns=info.turn_count,
        usage=info.usage,
        avg_response_ms=round(1000 * seconds / len(answers), 1) if answers else 0.0,
        tokens_per_second=round(tokens / seconds, 1) if seconds else 0.0,
        tools_used=dict(Counter(call.name for call in calls).most_common()),
        error_rate=round(sum(result.is_error for result in results) / len(results), 3) if results else 0.0,
    )


def _usage(row: tuple[str, UsageRecord]) -> TokenUsage:
    session, record = row
    return TokenUsage(session, record.model, record.usage, record.activity, record.cost_usd, record.at)
