"""Who counts tokens and money, and refuses a request that could pass a cap."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from openagent.plugins.provider import ModelRequest
from openagent.protocol.messages import Part
from openagent.protocol.sessions import DayBudget
from openagent.protocol.usage import SessionUsage, Usage

Activity = Literal["conversation", "tool_use", "summarizing", "intent", "sampling", "subagent", "imported"]


class Charge(Struct, frozen=True):
    """What one answer cost. None: the model's price is not known."""

    cost_usd: float | None


class Budget(Struct, frozen=True):
    """A session's own caps; None: the configured ones."""

    usd: float | None = None
    tokens: int | None = None


class Reservation(Protocol):
    """Money and tokens set aside for one request. Settle it or release it, once.

    Settle what may have been billed, also when the answer was cut off; release what was never sent.
    """

    max_output_tokens: int | None
    """The longest answer the request may be sent with, which may be shorter than it asked for; None: as it asks."""

    def settle(self, usage: Usage) -> Charge: ...

    def price(self, usage: Usage) -> Charge:
        """What it would be settled for."""
        ...

    def release(self) -> None: ...


class Ledger(Protocol):
    async def reserve(self, session: str, model: str, request: ModelRequest, activity: Activity) -> Reservation:
        """Raises OpenAgentError('budget_exceeded') when the worst case does not fit."""
        ...

    def estimate(self, request: ModelRequest, answer: Sequence[Part]) -> Usage:
        """What an answer that broke off has probably cost: at once, and a little wrong."""
        ...

    async def measure(self, request: ModelRequest, answer: Sequence[Part]) -> Usage:
        """What an answer has cost whose provider reports nothing: counted, which may take a moment."""
        ...

    def caps(self, budget: Budget) -> Budget:
        """What holds for a session with this one: its own caps, or the configured ones."""
        ...

    def today(self) -> DayBudget | None:
        """What all sessions may spend today, and have; None: no cap is set for the day."""
        ...

    def register(
        self, session: str, parent: str | None, budget: Budget, spent: SessionUsage, below: SessionUsage
    ) -> None:
        """A session is loaded, or its budget has changed. What it and the sessions that work for it have spent before
        counts the first time only."""
        ...

    def book(self, session: str, model: str, usage: Usage, cost_usd: float | None, activity: Activity) -> None:
        """Count what a daemon that died had spent. It is in the store by now."""
        ...

    def forget(self, session: str) -> None: ...
