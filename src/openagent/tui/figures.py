"""Numbers for people: as many digits as matter, and never wider than before."""

from typing import NamedTuple

from openagent.protocol.sessions import DayBudget, SessionInfo
from openagent.protocol.usage import SessionUsage


def money(usd: float, unpriced: int = 0) -> str:
    """`unpriced`: requests that it leaves out, whose price is not known. They are told of, never taken for free."""
    if usd == 0:
        return "$?" if unpriced else "$0"
    return (f"${usd:.4f}" if usd < 0.1 else f"${usd:.2f}") + ("+?" if unpriced else "")


def spent(info: SessionInfo) -> tuple[float, int]:
    """What a session has cost with those that work for it, and how many requests that leaves out."""
    return info.usage.cost_usd + info.below_usd, info.usage.unpriced + info.below_unpriced


class Cap(NamedTuple):
    """The limit that is nearest."""

    text: str
    percent: float


def nearest_cap(info: SessionInfo) -> Cap | None:
    """Of the session's own, the configured one and the day's; None: it may spend what it wants."""
    usd, unpriced = spent(info)
    used = info.usage.tokens
    taken, today = used.input_tokens + used.output_tokens, info.today or DayBudget()
    caps = [
        (info.cap_usd, usd, f"{money(usd, unpriced)}/{info.cap_usd or 0:.2f}"),
        (info.cap_tokens, taken, f"{money(usd, unpriced)} {tokens(taken)}/{tokens(info.cap_tokens or 0)} tokens"),
        (today.cap_usd, today.spent_usd, f"today {money(today.spent_usd)}/{today.cap_usd or 0:.2f}"),
        (today.cap_tokens, today.spent_tokens, f"today {tokens(today.spent_tokens)}/{tokens(today.cap_tokens or 0)}"),
    ]
    known = [Cap(text, 100 * of / cap if cap else 100.0) for cap, of, text in caps if cap is not None]
    return max(known, key=lambda cap: cap.percent, default=None)


def tokens(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"


def filled(usage: SessionUsage) -> float | None:
    """How much of the model's window is used, in per cent; None when the window is not known."""
    if not usage.context_window:
        return None
    return min(100.0, 100 * usage.context_tokens / usage.context_window)


def state_of(percent: float) -> str:
    """The colour of a gauge: green to 70 %, yellow to 90 %, red above."""
    if percent <= 70:
        return "success"
    return "warning" if percent <= 90 else "error"
