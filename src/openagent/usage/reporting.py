"""Reports: shown when asked for, and sent when a day, a week or a month is over: `report.*`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

import msgspec

from openagent.config.settings import ReportSettings
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.filesystem.atomic_files import replace_file
from openagent.plugins.store import AuditEntry, Store
from openagent.protocol.reports import Report, ReportPeriod, ReportSend, ReportSent, ReportShow, WrittenReport
from openagent.protocol.sessions import SessionInfo
from openagent.protocol.tasks import TaskInfo
from openagent.protocol.usage import UsageRow
from openagent.usage.metrics import cost_of, token_usage
from openagent.usage.report import Stored, stretch, summed_up
from openagent.usage.report_sending import Sender, written

_PAGE = 500
_MOST_BACK = 120
_BEFORE = 7 * 86_400.0
"""Who sent the message that a turn at the beginning of the time still answers: looked for so far back."""
_log = logging.getLogger(__name__)

Others = Callable[[Connection, float, float], Awaitable[list[UsageRow]]]


class ReportService:
    def __init__(
        self,
        store: Store,
        home: Path,
        *,
        settings: Callable[[], ReportSettings],
        tasks: Callable[[], Awaitable[list[TaskInfo]]],
        others: Others,
        password: Callable[[], str],
    ) -> None:
        self._store = store
        self._state = home / "reports.json"
        self._settings = settings
        self._tasks = tasks
        self._others = others
        self._password = password

    def handlers(self) -> list[Handler]:
        return [ReportShow.handled_by(self._show), ReportSend.handled_by(self._send)]

    async def send_due(self) -> None:
        """The last one that is over, once."""
        period = self._settings().every
        if period is None:
            return
        since = stretch(period, 1, datetime.now())[0].date().isoformat()
        sent = await asyncio.to_thread(self._sent)
        if sent.get(period) == since:
            return
        places = await self._send_last(period)
        await asyncio.to_thread(replace_file, self._state, msgspec.json.encode({**sent, period: since}))
        _log.info("usage report sent", extra={"places": places})

    async def _show(self, connection: Connection, op: ReportShow) -> WrittenReport:
        report = await self._report(op.period, min(max(op.back, 0), _MOST_BACK))
        if op.all_agents:
            others = await self._others(connection, report.since, report.until)
            report = msgspec.structs.replace(report, other_agents=others)
        return WrittenReport(report, await asyncio.to_thread(written, report, op.format))

    async def _send(self, connection: Connection, op: ReportSend) -> ReportSent:
        return ReportSent(await self._send_last(op.period))

    async def _send_last(self, period: ReportPeriod) -> list[str]:
        return await Sender(self._settings(), self._password).send(await self._report(period, 1))

    async def _report(self, period: ReportPeriod, back: int) -> Report:
        since, until = stretch(period, back, datetime.now())
        start, end = since.timestamp(), until.timestamp()
        stored = Stored(
            usage=[token_usage(row) for row in await self._store.usage_rows(since=start, until=end)],
            turns=await self._store.turns_ended(since=start, until=end),
            failures=await self._store.failures(since=start, until=end),
            sessions=await self._sessions(start),
            sent=await self._who_sent(start - _BEFORE),
            tasks=await self._tasks(),
            cost=await cost_of(self._store, 1),
        )
        return await asyncio.to_thread(summed_up, stored, period, since, until, None)

    async def _sessions(self, since: float) -> dict[str, SessionInfo]:
        """Those that were active then or later, and the sessions that they work for."""
        found: dict[str, SessionInfo] = {}
        before: float | None = None
        last = ""
        while page := await self._store.sessions(limit=_PAGE, before=before, before_id=last):
            found |= {info.id: info for info in page if info.updated_at >= since}
            before, last = page[-1].updated_at, page[-1].id
            if before < since or len(page) < _PAGE:
                break
        missing = {info.parent for info in found.values() if info.parent and info.parent not in found}
        while missing:
            above = [(await self._store.session(parent)).info for parent in missing]
            found |= {info.id: info for info in above}
            missing = {info.parent for info in above if info.parent and info.parent not in found}
        return found

    async def _who_sent(self, since: float) -> list[AuditEntry]:
        found: list[AuditEntry] = []
        before: int | None = None
        while page := await self._store.audit(kind="message", since=since, limit=_PAGE, before=before):
            found += page
            before = page[-1].id
            if len(page) < _PAGE:
                break
        return found

    def _sent(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._state.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}
