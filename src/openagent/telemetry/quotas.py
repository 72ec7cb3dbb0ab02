"""Requests of people whose use is limited: the worst case is set aside in the database before one is sent."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from openagent.plugins.ledger import Charge, Reservation
from openagent.plugins.quotas import Quota, QuotaStore, QuotaUse
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionInfo
from openagent.protocol.usage import Usage
from openagent.telemetry.accounts import UNBOUNDED, Demand
from openagent.telemetry.prices import PICO, Price

PATIENCE = 30.0
"""Seconds to wait for requests that have not ended to give back what they do not need."""
_LOOK_AGAIN = 0.5
_log = logging.getLogger(__name__)


class Quotas:
    def __init__(self, store: QuotaStore, whose: Callable[[str], SessionInfo | None]) -> None:
        self._store = store
        self._whose = whose
        self._giving_back: set[asyncio.Task[None]] = set()

    async def of(self, session: str) -> list[Quota]:
        """Those that hold for a session; none for the sessions of whoever has the machine."""
        info = self._whose(session)
        if info is None or not info.owner:
            return []
        return await self._store.quotas(info.owner, info.team, info.cwd, time.time())

    async def hold(
        self,
        quotas: Sequence[Quota],
        granted: Reservation,
        demand: Demand,
        price: Price | None,
        *,
        wanted: int,
        least: int,
    ) -> "QuotaReservation":
        """Of all of them, or of none and raises."""
        until = time.monotonic() + PATIENCE
        while True:
            used = await self._store.used(quotas)
            output = min(wanted, *(_room(quota, use, demand) for quota, use in zip(quotas, used, strict=True)))
            if output >= least:
                tokens, money = demand.tokens(output), demand.money(output)
                if await self._store.take(quotas, tokens, money):
                    return QuotaReservation(self, granted, quotas, price, held=(tokens, money), output=output)
                continue  # another daemon was faster: what is left by now?
            blocking = [
                (quota, use) for quota, use in zip(quotas, used, strict=True) if _room(quota, use, demand) < least
            ]
            if time.monotonic() > until or not any(use.open for _, use in blocking):
                raise _refused(*blocking[0])
            await asyncio.sleep(_LOOK_AGAIN)

    def give_back(self, quotas: Sequence[Quota], tokens: int, money: int) -> None:
        task = asyncio.create_task(self._give_back(quotas, tokens, money))
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)

    async def _give_back(self, quotas: Sequence[Quota], tokens: int, money: int) -> None:
        try:
            await self._store.give_back(quotas, tokens, money)
        except OpenAgentError as problem:  # it counts as used until the day ends
            _log.warning(
                "unused quota could not be returned and counts as used until the day ends",
                extra={"tokens": tokens, "reason": str(problem)},
            )

    async def close(self) -> None:
        await asyncio.gather(*self._giving_back)


class QuotaReservation:
    def __init__(
        self,
        quotas: Quotas,
        inner: Reservation,
        of: Sequence[Quota],
        price: Price | None,
        *,
        held: tuple[int, int],
        output: int,
    ) -> None:
        self.max_output_tokens: int | None = output
        self._quotas = quotas
        self._inner = inner
        self._of = of
        self._price = price
        self._held: tuple[int, int] | None = held

    def settle(self, usage: Usage) -> Charge:
        self._end(usage.input_tokens + usage.output_tokens, self._price.cost(usage) if self._price else 0)
        return self._inner.settle(usage)

    def price(self, usage: Usage) -> Charge:
        return self._inner.price(usage)

    def release(self) -> None:
        self._end(0, 0)
        self._inner.release()

    def _end(self, tokens: int, money: int) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._quotas.give_back(self._of, held[0] - tokens, held[1] - money)


def _room(quota: Quota, use: QuotaUse, demand: Demand) -> int:
    """How long an answer may be."""
    room = UNBOUNDED if quota.tokens is None else quota.tokens - use.tokens - demand.prompt_tokens
    if quota.money is not None and not demand.free:
        left = quota.money - use.money - demand.money(0)
        room = min(room, left // demand.output_rate if demand.output_rate else UNBOUNDED if left >= 0 else -1)
    return room


def _refused(quota: Quota, use: QuotaUse) -> OpenAgentError:
    figures = [
        *([f"{use.tokens:,} of {quota.tokens:,} tokens"] if quota.tokens is not None else []),
        *([f"${use.money / PICO:.4f} of ${quota.money / PICO:.2f}"] if quota.money is not None else []),
    ]
    return OpenAgentError(
        "budget_exceeded",
        f"What {quota.name} may use today does not cover another request: {' and '.join(figures)} are used or held.",
        hint="It begins anew at midnight UTC. An admin can raise it: `openagent people limit`, `teams limit`.",
    )
