"""A ledger without caps or prices."""

from collections.abc import Sequence

import msgspec

from openagent.plugins.ledger import Activity, Budget, Charge
from openagent.plugins.provider import ModelRequest
from openagent.protocol.messages import Part
from openagent.protocol.usage import SessionUsage, Usage


class OpenReservation:
    max_output_tokens: int | None = None

    async def priced(self) -> None:
        pass

    def settle(self, usage: Usage) -> Charge:
        return Charge(cost_usd=None)

    def price(self, usage: Usage) -> Charge:
        return Charge(cost_usd=None)

    def release(self) -> None:
        """Nothing was set aside."""


class OpenLedger:
    async def reserve(self, session: str, model: str, request: ModelRequest, activity: Activity) -> OpenReservation:
        return OpenReservation()

    def estimate(self, request: ModelRequest, answer: Sequence[Part]) -> Usage:
        size = len(msgspec.json.encode((request.messages, answer)))
        return Usage(input_tokens=size // 4, estimated=True)

    async def measure(self, request: ModelRequest, answer: Sequence[Part]) -> Usage:
        return self.estimate(request, answer)

    def register(
        self, session: str, parent: str | None, budget: Budget, spent: SessionUsage, below: SessionUsage
    ) -> None:
        """Every session is as good as another."""

    def book(self, session: str, model: str, usage: Usage, cost_usd: float | None, activity: Activity) -> None:
        """Nothing is counted."""

    def forget(self, session: str) -> None:
        """Nothing was remembered."""
