"""A ledger without caps or prices."""

from openagent.plugins.ledger import Activity, Charge
from openagent.plugins.provider import ModelRequest
from openagent.protocol.usage import Usage


class OpenReservation:
    max_output_tokens: int | None = None

    def settle(self, usage: Usage) -> Charge:
        return Charge(cost_usd=None)

    def release(self) -> None:
        """Nothing was set aside."""


class OpenLedger:
    async def reserve(self, session: str, model: str, request: ModelRequest, activity: Activity) -> OpenReservation:
        return OpenReservation()

    def count_tokens(self, text: str) -> int:
        return len(text) // 4
