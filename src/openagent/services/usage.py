"""What was used: `usage.report`."""

import asyncio

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import Store, UsageRecord
from openagent.protocol import ops
from openagent.protocol.usage import UsageReport
from openagent.telemetry.reports import usage_report
from openagent.telemetry.tokens import TokenUsage


class UsageService:
    def __init__(self, store: Store) -> None:
        self._store = store

    def handlers(self) -> dict[type[ops.Op], Handler]:
        return {ops.UsageAsk: self._report}

    async def _report(self, connection: Connection, op: ops.UsageAsk) -> UsageReport:
        rows = await self._store.usage_rows(since=op.since, until=op.until)
        return await asyncio.to_thread(usage_report, map(_usage, rows), op.by)


def _usage(row: tuple[str, UsageRecord]) -> TokenUsage:
    session, record = row
    return TokenUsage(session, record.model, record.usage, record.activity, record.cost_usd, record.at)
