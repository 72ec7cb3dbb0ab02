"""What all agents used, summed up."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import msgspec

from openagent.protocol.history import AgentDay, AllUsage, AllUsageBy, LeftOut
from openagent.protocol.origin import TITLES
from openagent.protocol.usage import Usage, UsageRow
from openagent.store.history import Spent

OWN = "openagent"
_TITLES: dict[str, str] = {**TITLES, OWN: "OpenAgent"}
_KEYS: dict[AllUsageBy, Callable[[Spent], str]] = {
    "agent": lambda spent: _TITLES.get(spent.agent, spent.agent),
    "day": lambda spent: spent.day,
    "month": lambda spent: spent.day[:7],
    "model": lambda spent: spent.model,
    "project": lambda spent: spent.project or "unknown",
}


def all_usage(spent: Sequence[Spent], by: AllUsageBy, left_out: list[LeftOut], unread: int = 0) -> AllUsage:
    rows = _rows(spent, _KEYS[by])
    rows.sort(key=lambda row: row.key)
    if by not in ("day", "month"):
        rows.sort(key=lambda row: (row.cost_usd, row.usage.input_tokens + row.usage.output_tokens), reverse=True)
    total = _rows(spent, lambda _: "total")
    agents = sorted(_rows(spent, _KEYS["agent"]), key=lambda row: row.cost_usd, reverse=True)
    whole = total[0] if total else UsageRow("total", 0, Usage(), 0.0)
    return AllUsage(by, rows, whole, agents, _parts(spent, by), unread, left_out)


def _parts(spent: Sequence[Spent], by: AllUsageBy) -> list[AgentDay]:
    if by not in ("day", "month"):
        return []
    sums: dict[tuple[str, str], tuple[int, float]] = {}
    for each in spent:
        key = (_KEYS["agent"](each), _KEYS[by](each))
        tokens, cost = sums.get(key, (0, 0.0))
        sums[key] = (tokens + each.usage.input_tokens + each.usage.output_tokens, cost + each.cost_usd)
    return [AgentDay(agent, key, tokens, cost) for (agent, key), (tokens, cost) in sorted(sums.items())]


def on_their_days(own: Iterable[tuple[int, Spent]], since: str, until: str) -> list[Spent]:
    """What was used here, by this machine's days."""
    dated = [msgspec.structs.replace(spent, day=day_of(at)) for at, spent in own]
    return [spent for spent in dated if spent.day >= since and (not until or spent.day < until)]


def day_of(at: float) -> str:
    return datetime.fromtimestamp(at).date().isoformat()


def _rows(spent: Iterable[Spent], key_of: Callable[[Spent], str]) -> list[UsageRow]:
    sums: dict[str, UsageRow] = {}
    for each in spent:
        key = key_of(each)
        before = sums.get(key) or UsageRow(key, 0, Usage(), 0.0)
        sums[key] = UsageRow(
            key,
            before.requests + each.requests,
            before.usage + each.usage,
            before.cost_usd + each.cost_usd,
            before.unpriced + each.unpriced,
        )
    return [_with_share(row) for row in sums.values()]


def _with_share(row: UsageRow) -> UsageRow:
    sent = row.usage.input_tokens
    share = round(100 * row.usage.cached_tokens / sent, 1) if sent else 0.0
    return msgspec.structs.replace(row, cached_percent=share)
