"""What a report says in words, the same in every format."""

import time

from openagent.protocol.reports import Report
from openagent.protocol.usage import UsageRow

TITLES = {"day": "Day", "week": "Week", "month": "Month"}


def title(report: Report) -> str:
    begun = time.localtime(report.since)
    if report.period == "month":
        return f"OpenAgent: {time.strftime('%B %Y', begun)}"
    named = time.strftime("%Y-%m-%d", begun)
    return f"OpenAgent: {named}" if report.period == "day" else f"OpenAgent: the week from {named}"


def reach(report: Report) -> str:
    """From when to when, and what is not in it."""
    span = " to ".join(time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) for at in (report.since, report.until))
    others = (
        "Other agents on this machine are not counted."
        if report.other_agents is None
        else "Other agents on this machine are listed at the end, and in no other figure."
    )
    return f"{span}. {others}"


def money(usd: float, unpriced: int = 0) -> str:
    """To the cent, below a cent in full; a price that is not known is never taken for nothing."""
    if unpriced and not usd:
        return "$?"
    return (f"${usd:,.2f}" if usd >= 0.01 or not usd else f"${usd:.4f}") + ("+?" if unpriced else "")


def tokens(count: int) -> str:
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def all_tokens(row: UsageRow) -> int:
    return row.usage.input_tokens + row.usage.output_tokens


def lasting(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.0f} ms"
    minutes, seconds = divmod(ms / 1000, 60)
    if minutes < 1:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds:.0f} s"


def figures(report: Report) -> list[tuple[str, str, str]]:
    """What people look at first: a name, the figure, and what more there is to it."""
    total, turns = report.total, report.turns
    sent = f"{tokens(total.usage.input_tokens)} in, {tokens(total.usage.output_tokens)} out"
    return [
        ("Cost", money(total.cost_usd, total.unpriced), f"{total.requests:,} requests, {report.sessions:,} sessions"),
        ("This month, projected", money(report.projected_month_usd, report.unpriced_month), "at the pace of 7 days"),
        ("Tokens", tokens(all_tokens(total)), f"{sent}, {total.cached_percent:g} % cached"),
        ("Turns", f"{turns.ended:,}", f"{turns.done:,} done, {turns.cancelled:,} stopped, {turns.failed:,} failed"),
        ("A turn took", lasting(turns.median_ms), f"95 of 100 at most {lasting(turns.slow_ms)}"),
        ("Tasks done", f"{len(report.tasks_done):,}", f"turns took {lasting(turns.total_ms)} in all"),
    ]


def breakdowns(report: Report) -> list[tuple[str, list[UsageRow]]]:
    found = [
        ("By model", report.by_model),
        ("By template", report.by_template),
        ("By project", report.by_project),
        ("By person", report.by_person),
    ]
    if report.other_agents is not None:
        found.append(("Other agents on this machine", report.other_agents))
    return found


def weight(rows: list[UsageRow], row: UsageRow) -> float:
    """Its share of the largest: by money, or by tokens where nothing has a price."""
    if largest := max((each.cost_usd for each in rows), default=0.0):
        return row.cost_usd / largest
    most = max((all_tokens(each) for each in rows), default=0)
    return all_tokens(row) / most if most else 0.0
