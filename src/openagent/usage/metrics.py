"""How agents perform and what they cost: `metrics.*`."""

import asyncio
import time
from calendar import monthrange
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec.structs import replace

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.plugins.store import Store, UsageRecord
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.metrics import AgentMetrics, AgentsMetrics, CostAnalysis, MetricsAgents, MetricsCost
from openagent.protocol.sessions import EndedTurn, SessionInfo
from openagent.telemetry.reports import usage_report
from openagent.telemetry.tokens import TokenUsage

MOST_AGENTS = 100
LONGEST_DAYS = 3660
_LOOKED_AT = 100
"""Messages of each agent."""
DAYS_THAT_TELL = 7
HOURS_THAT_TELL = 2


class MetricsService:
    def __init__(self, store: Store, loaded: LoadedSessions) -> None:
        self._store = store
        self._loaded = loaded

    def handlers(self) -> list[Handler]:
        return [
            MetricsAgents.handled_by(self._agents),
            MetricsCost.handled_by(self._cost),
        ]

    async def of_agents(self, ids: Collection[str]) -> list[AgentMetrics]:
        """Those that are there still."""
        found: list[AgentMetrics] = []
        for each in ids:
            with suppress(OpenAgentError):  # it was deleted
                session = self._loaded.find(each)
                found.append(await self._measure(session.info if session else (await self._store.session(each)).info))
        return found

    async def _agents(self, connection: Connection, op: MetricsAgents) -> AgentsMetrics:
        limit = min(max(op.limit, 1), MOST_AGENTS)
        sessions = await self._store.sessions(limit=limit, within=await connection.within())
        return AgentsMetrics([await self._measure(info) for info in sessions])

    async def _measure(self, info: SessionInfo) -> AgentMetrics:
        messages = await self._store.messages(info.id, limit=_LOOKED_AT)
        first = messages[0].turn if messages else info.turn_count  # one that failed at once may have left none
        measured = _measured(info, messages, await self._store.turns(info.id, first=first, last=info.turn_count))
        if (session := self._loaded.find(info.id)) is None:
            return measured
        return replace(measured, jail=await asyncio.to_thread(session.shell.use))

    async def _cost(self, connection: Connection, op: MetricsCost) -> CostAnalysis:
        return await cost_of(self._store, min(max(op.days, 1), LONGEST_DAYS))


async def cost_of(store: Store, days: int) -> CostAnalysis:
    now = datetime.now()
    # A projection is the same however many days are asked for.
    looked_at = max(days, now.day, DAYS_THAT_TELL)
    known = [token_usage(row) for row in await store.usage_rows(since=_midnight(now, looked_at - 1))]
    return await asyncio.to_thread(_analysis, known, days, now)


def _midnight(now: datetime, days_ago: int) -> float:
    return (now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days_ago)).timestamp()


def _analysis(known: Sequence[TokenUsage], days: int, now: datetime) -> CostAnalysis:
    rows = [row for row in known if row.at >= _midnight(now, days - 1)]
    by_day = [_between(known, now, ago) for ago in range(max(now.day, DAYS_THAT_TELL))]
    end_of_day, end_of_month = projection(by_day, now)
    return CostAnalysis(
        days=days,
        total_usd=_spent(rows, 0.0),
        today_usd=by_day[0],
        week_usd=sum(by_day[:DAYS_THAT_TELL]),
        projected_today_usd=end_of_day,
        projected_month_usd=end_of_month,
        by_model=usage_report(rows, "model").rows,
        by_day=usage_report(rows, "day").rows,
        by_activity=usage_report(rows, "activity").rows,
        unpriced=_unpriced(rows, 0.0),
        unpriced_today=_unpriced(known, _midnight(now, 0)),
        unpriced_week=_unpriced(known, _midnight(now, DAYS_THAT_TELL - 1)),
        unpriced_month=_unpriced(known, _midnight(now, now.day - 1)),
        tokens_today=sum(
            row.usage.input_tokens + row.usage.output_tokens for row in known if row.at >= _midnight(now, 0)
        ),
    )


def projection(by_day: Sequence[float], now: datetime) -> tuple[float, float]:
    """What today and this month will have cost. `by_day` is what was spent today, yesterday, and so on.

    Today goes on at its pace; in its first hours there is too little to go by, so it is taken for a day like the last
    ones. Each day to come costs what the last seven did on average.
    """
    today, before = by_day[0], by_day[1:DAYS_THAT_TELL]
    hours = now.hour + now.minute / 60
    pace = today / hours * 24 if hours >= HOURS_THAT_TELL else sum(before) / len(before)
    end_of_day = max(today, pace)
    to_come = monthrange(now.year, now.month)[1] - now.day
    average = (end_of_day + sum(before)) / DAYS_THAT_TELL
    return end_of_day, sum(by_day[1 : now.day]) + end_of_day + average * to_come


def _between(rows: Sequence[TokenUsage], now: datetime, days_ago: int) -> float:
    start, end = _midnight(now, days_ago), _midnight(now, days_ago - 1)
    return sum(row.cost_usd or 0.0 for row in rows if start <= row.at < end)


def _spent(rows: Sequence[TokenUsage], since: float) -> float:
    return sum(row.cost_usd or 0.0 for row in rows if row.at >= since)


def _unpriced(rows: Sequence[TokenUsage], since: float) -> int:
    return sum(row.cost_usd is None for row in rows if row.at >= since)


def _measured(info: SessionInfo, messages: Sequence[Message], turns: Sequence[EndedTurn]) -> AgentMetrics:
    answers = [message for message in messages if message.role == "assistant" and message.latency_ms]
    seconds = sum(message.latency_ms or 0.0 for message in answers) / 1000
    tokens = sum(message.usage.output_tokens for message in answers if message.usage)
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    results = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    failed_turns = sum(turn.reason == "error" for turn in turns)
    failed = failed_turns + sum(result.is_error for result in results)
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
        error_rate=round(failed / (len(results) + len(turns)), 3) if failed else 0.0,
        failed_turns=failed_turns,
        template=info.template,
        parent=info.parent or "",
        model=next((message.model for message in reversed(answers) if message.model), ""),
    )


def token_usage(row: tuple[str, UsageRecord]) -> TokenUsage:
    session, record = row
    return TokenUsage(session, record.model, record.usage, record.activity, record.cost_usd, record.at)
