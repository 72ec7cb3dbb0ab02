"""What was used and what went wrong: `usage.*`."""

import asyncio

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import Store, UsageRecord
from openagent.protocol.usage import FailureReport, UsageAsk, UsageFailures, UsageReport
from openagent.telemetry.reports import failure_report, usage_report
from openagent.telemetry.tokens import TokenUsage


class UsageService:
    def __init__(self, store: Store) -> None:
        self._store = store

    def handlers(self) -> list[Handler]:
        return [
            UsageAsk.handled_by(self._report),
            UsageFailures.handled_by(self._failures),
        ]

    async def _report(self, connection: Connection, op: UsageAsk) -> UsageReport:
        rows = await self._store.usage_rows(since=op.since, until=op.until)
        return await asyncio.to_thread(usage_report, map(_usage, rows), op.by)

    async def _failures(self, connection: Connection, op: UsageFailures) -> FailureReport:
        return failure_report(await self._store.failures(since=op.since, until=op.until))


def _usage(row: tuple[str, UsageRecord]) -> TokenUsage:
    session, record = row
    return TokenUsage(
        session, record.model, record.usage, record.activity, record.cost_usd, record.at, record.latency_ms
    )
