"""Usage summed up by model, session, day or activity; failures by day and kind."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from openagent.plugins.store import FailureRecord
from openagent.protocol.usage import FailureReport, FailureRow, GroupBy, UsageReport, UsageRow
from openagent.telemetry.tokens import SessionTokenStats, TokenUsage


def usage_report(
    records: Iterable[TokenUsage], by: GroupBy = "model", key: Callable[[TokenUsage], str] | None = None
) -> UsageReport:
    """Days in order, everything else by cost and then by tokens, the largest first. `key` groups in its own way."""
    key_of = key or _KEYS[by]
    groups: dict[str, SessionTokenStats] = {}
    latencies: dict[str, list[float]] = {}
    total = SessionTokenStats()
    for record in records:
        group = key_of(record)
        groups[group] = groups.get(group, _NOTHING).with_request(record)
        total = total.with_request(record)
        if record.latency_ms is not None:
            latencies.setdefault(group, []).append(record.latency_ms)
    rows = [_row(group, stats, latencies.get(group, [])) for group, stats in sorted(groups.items())]
    if by != "day":
        rows.sort(key=lambda row: (row.cost_usd, row.usage.input_tokens + row.usage.output_tokens), reverse=True)
    every = [latency for group in latencies.values() for latency in group]
    return UsageReport(by=by, rows=rows, total=_row("total", total, every))


_NOTHING = SessionTokenStats()
_KEYS: dict[GroupBy, Callable[[TokenUsage], str]] = {
    "model": lambda record: record.model,
    "session": lambda record: record.session,
    "day": lambda record: _day(record.at),
    "activity": lambda record: record.activity,
}


def _row(key: str, stats: SessionTokenStats, latencies: Sequence[float]) -> UsageRow:
    tokens = stats.tokens
    ordered = sorted(latencies)
    return UsageRow(
        key=key,
        requests=stats.request_count,
        usage=tokens,
        cost_usd=stats.total_cost,
        unpriced=stats.unpriced_count,
        cached_percent=round(100 * tokens.cached_tokens / tokens.input_tokens, 1) if tokens.input_tokens else 0.0,
        latency_ms=at_share(ordered, 0.5),
        slow_latency_ms=at_share(ordered, 0.95),
    )


def at_share(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the others does not exceed."""
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 1) if ordered else 0.0


def failure_report(records: Iterable[FailureRecord]) -> FailureReport:
    """By day and kind of error, in order."""
    counts: dict[tuple[str, str], list[int]] = {}
    for record in records:
        count = counts.setdefault((_day(record.at), record.code), [0, 0])
        count[record.was_retried] += 1
    return FailureReport([FailureRow(day, code, *count) for (day, code), count in sorted(counts.items())])


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).date().isoformat()
