"""What was used: one record per request, and the sums of a session."""

from collections.abc import Callable

from msgspec import Struct

from openagent.plugins.ledger import Activity
from openagent.protocol.usage import Usage


class TokenUsage(Struct, frozen=True, omit_defaults=True):
    """One model request, as it was billed. A line of the journal and the raw material of reports."""

    session: str
    model: str
    """provider/model."""
    usage: Usage
    activity: Activity = "conversation"
    cost_usd: float | None = None
    """None: the model's price is not known."""
    at: float = 0.0
    latency_ms: float | None = None

    @property
    def total(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens


class SessionTokenStats(Struct, frozen=True):
    tokens: Usage = Usage()
    total_cost: float = 0.0
    request_count: int = 0
    unpriced_count: int = 0
    """Requests whose price is not known: `total_cost` leaves them out."""

    @property
    def total_tokens(self) -> int:
        return self.tokens.input_tokens + self.tokens.output_tokens

    def with_request(self, usage: TokenUsage) -> "SessionTokenStats":
        return SessionTokenStats(
            tokens=self.tokens + usage.usage,
            total_cost=self.total_cost + (usage.cost_usd or 0.0),
            request_count=self.request_count + 1,
            unpriced_count=self.unpriced_count + (usage.cost_usd is None),
        )


class TokenTracker:
    """Sums up what one session used and tells whoever subscribed."""

    def __init__(self, session_id: str, budget: int | None = None) -> None:
        self.session_id = session_id
        self.budget = budget
        self._stats = SessionTokenStats()
        self._listeners: list[Callable[[TokenUsage], None]] = []

    def record(self, usage: TokenUsage) -> None:
        self._stats = self._stats.with_request(usage)
        for listener in self._listeners:
            listener(usage)

    def get_session_stats(self) -> SessionTokenStats:
        return self._stats

    def get_budget_remaining(self) -> int | None:
        if self.budget is None:
            return None
        return max(0, self.budget - self._stats.total_tokens)

    def get_budget_percentage(self) -> float | None:
        if self.budget is None:
            return None
        if self.budget <= 0:
            return 100.0
        return min(100.0, self._stats.total_tokens / self.budget * 100)

    def subscribe(self, callback: Callable[[TokenUsage], None]) -> None:
        self._listeners.append(callback)
