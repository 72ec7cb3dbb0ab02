"""Numbers for people: as many digits as matter, and never wider than before."""

from openagent.protocol.sessions import SessionInfo
from openagent.protocol.usage import SessionUsage


def money(usd: float, unpriced: int = 0) -> str:
    """`unpriced`: requests that it leaves out, whose price is not known. They are told of, never taken for free."""
    if usd == 0:
        return "$?" if unpriced else "$0"
    return (f"${usd:.4f}" if usd < 0.1 else f"${usd:.2f}") + ("+?" if unpriced else "")


def spent(info: SessionInfo) -> tuple[float, int]:
    """What a session has cost with those that work for it, and how many requests that leaves out."""
    return info.usage.cost_usd + info.below_usd, info.usage.unpriced + info.below_unpriced


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
