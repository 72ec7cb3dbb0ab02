"""Usage summed up by model, session, day or activity."""

from collections.abc import Callable, Iterable
from datetime import datetime

from openagent.protocol.usage import GroupBy, UsageReport, UsageRow
from openagent.telemetry.tokens import SessionTokenStats, TokenUsage


def usage_report(records: Iterable[TokenUsage], by: GroupBy = "model") -> UsageReport:
    """Days in order, everything else by cost and then by tokens, the largest first."""
    key_of = _KEYS[by]
    groups: dict[str, SessionTokenStats] = {}
    total = SessionTokenStats()
    for record in records:
        key = key_of(record)
        groups[key] = groups.get(key, _NOTHING).with_request(record)
        total = total.with_request(record)
    rows = [_row(key, stats) for key, stats in sorted(groups.items())]
    if by != "day":
        rows.sort(key=lambda row: (row.cost_usd, row.usage.input_tokens + row.usage.output_tokens), reverse=True)
    return UsageReport(by=by, rows=rows, total=_row("total", total))


_NOTHING = SessionTokenStats()
_KEYS: dict[GroupBy, Callable[[TokenUsage], str]] = {
    "model": lambda record: record.model,
    "session": lambda record: record.session,
    "day": lambda record: datetime.fromtimestamp(record.at).date().isoformat(),
    "activity": lambda record: record.activity,
}


def _row(key: str, stats: SessionTokenStats) -> UsageRow:
    tokens = stats.tokens
    return UsageRow(
        key=key,
        requests=stats.request_count,
        usage=tokens,
        cost_usd=stats.total_cost,
        unpriced=stats.unpriced_count,
        cached_percent=round(100 * tokens.cached_tokens / tokens.input_tokens, 1) if tokens.input_tokens else 0.0,
    )
