"""The figures of a report, from what is stored."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from openagent.plugins.store import AuditEntry, FailureRecord
from openagent.protocol.metrics import CostAnalysis
from openagent.protocol.reports import Report, ReportFailure, ReportPeriod, ReportTurns
from openagent.protocol.sessions import EndedTurn, SessionInfo
from openagent.protocol.tasks import TaskInfo
from openagent.protocol.usage import Usage, UsageRow
from openagent.telemetry.reports import at_share, usage_report
from openagent.telemetry.tokens import TokenUsage

NO_TEMPLATE = "no template"
DELETED = "deleted sessions"
UNKNOWN = "not known"


class Stored(Struct, frozen=True):
    """All that a report is made from."""

    usage: Sequence[TokenUsage]
    turns: Sequence[tuple[str, EndedTurn]]
    failures: Sequence[FailureRecord]
    sessions: Mapping[str, SessionInfo]
    sent: Sequence[AuditEntry]
    """Who sent messages, newest first."""
    tasks: Sequence[TaskInfo]
    cost: CostAnalysis


def stretch(period: ReportPeriod, back: int, now: datetime) -> tuple[datetime, datetime]:
    """From the beginning of a calendar day, week or month to its end, or to now."""
    start = _beginning(period, now)
    end = now
    for _ in range(back):
        start, end = _beginning(period, start - timedelta(hours=1)), start
    return start, end


def _beginning(period: ReportPeriod, at: datetime) -> datetime:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "day":
        return day
    return day - timedelta(days=day.weekday()) if period == "week" else day.replace(day=1)


def summed_up(
    stored: Stored, period: ReportPeriod, since: datetime, until: datetime, others: list[UsageRow] | None
) -> Report:
    usage = stored.usage
    senders = _Senders(stored)
    return Report(
        period=period,
        since=since.timestamp(),
        until=until.timestamp(),
        total=usage_report(usage).total,
        projected_month_usd=stored.cost.projected_month_usd,
        unpriced_month=stored.cost.unpriced_month,
        parts=_parts(usage, period, since, until),
        turns=_turns([turn for _, turn in stored.turns]),
        failures=_failures([turn for _, turn in stored.turns], stored.failures),
        tasks_done=[
            task.title
            for task in sorted(stored.tasks, key=lambda task: task.updated_at)
            if task.state == "done" and since.timestamp() <= task.updated_at < until.timestamp()
        ],
        by_model=_by(usage, lambda each: each.model),
        by_template=_by(usage, senders.template),
        by_project=_by(usage, senders.project),
        by_person=_by(usage, senders.person),
        sessions=len({each.session for each in usage}),
        other_agents=others,
    )


class _Senders:
    """Whose work a request was: a sub-agent's is that of the session that a person began."""

    def __init__(self, stored: Stored) -> None:
        self._sessions = stored.sessions
        self._sent: dict[str, list[AuditEntry]] = {}
        for entry in stored.sent:
            self._sent.setdefault(entry.session, []).append(entry)

    def template(self, used: TokenUsage) -> str:
        info = self._sessions.get(used.session)
        return (info.template or NO_TEMPLATE) if info else DELETED

    def project(self, used: TokenUsage) -> str:
        info = self._sessions.get(self._root(used.session))
        return info.cwd if info else DELETED

    def person(self, used: TokenUsage) -> str:
        """Who last said something there before it."""
        said = self._sent.get(self._root(used.session), [])
        return next((str(entry.detail.get("actor", UNKNOWN)) for entry in said if entry.at <= used.at), UNKNOWN)

    def _root(self, session: str) -> str:
        seen: set[str] = set()
        while (info := self._sessions.get(session)) and info.parent and session not in seen:
            seen.add(session)
            session = info.parent
        return session


def _by(usage: Iterable[TokenUsage], key: Callable[[TokenUsage], str]) -> list[UsageRow]:
    return usage_report(usage, key=key).rows


def _parts(usage: Iterable[TokenUsage], period: ReportPeriod, since: datetime, until: datetime) -> list[UsageRow]:
    form = "%H:00" if period == "day" else "%Y-%m-%d"
    step = timedelta(hours=1) if period == "day" else timedelta(days=1)
    found = {row.key: row for row in _by(usage, lambda each: datetime.fromtimestamp(each.at).strftime(form))}
    parts: list[UsageRow] = []
    at = since
    while at < until:
        key = at.strftime(form)
        parts.append(found.get(key) or UsageRow(key, 0, Usage(), 0.0))
        at += step
    return parts


def _turns(turns: Sequence[EndedTurn]) -> ReportTurns:
    took = sorted(turn.duration_ms for turn in turns)
    ends = Counter(turn.reason for turn in turns)
    return ReportTurns(
        ended=len(turns),
        done=ends["done"],
        cancelled=ends["cancelled"],
        failed=len(turns) - ends["done"] - ends["cancelled"],
        median_ms=at_share(took, 0.5),
        slow_ms=at_share(took, 0.95),
        total_ms=round(sum(took), 1),
    )


def _failures(turns: Sequence[EndedTurn], failures: Sequence[FailureRecord]) -> list[ReportFailure]:
    ended = Counter(
        turn.error.code if turn.error else turn.reason for turn in turns if turn.reason not in ("done", "cancelled")
    )
    retried = Counter(failure.code for failure in failures if failure.was_retried)
    rows = [ReportFailure(cause, ended[cause], retried[cause]) for cause in {*ended, *retried}]
    return sorted(rows, key=lambda row: (-row.turns, -row.retried, row.cause))
