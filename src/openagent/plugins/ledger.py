"""Who counts tokens and money, and refuses a request that could pass a cap."""

from typing import Literal, Protocol

from msgspec import Struct

from openagent.plugins.provider import ModelRequest
from openagent.protocol.usage import Usage

Activity = Literal["conversation", "tool_use", "summarizing", "subagent"]


class Charge(Struct, frozen=True):
    """What one answer cost. None: the model's price is not known."""

    cost_usd: float | None


class Reservation(Protocol):
    """Money and tokens set aside for one request. Settle it or release it, once.

    Settle what may have been billed, also when the answer was cut off; release what was never sent.
    """

    max_output_tokens: int | None
    """The longest answer the request may be sent with, which may be shorter than it asked for; None: as it asks."""

    def settle(self, usage: Usage) -> Charge: ...

    def release(self) -> None: ...


class Ledger(Protocol):
    async def reserve(self, session: str, model: str, request: ModelRequest, activity: Activity) -> Reservation:
        """Raises OpenAgentError('budget_exceeded') when the worst case does not fit."""
        ...

    def count_tokens(self, text: str) -> int:
        """A local estimate."""
        ...
