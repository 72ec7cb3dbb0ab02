"""The ledger that the settings ask for: prices, limits, and who hears that one is near."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from openagent import config
from openagent.config.settings import PROVIDER_KINDS, ProviderSettings
from openagent.plugins.store import Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import BudgetExceeded, BudgetWarning, Event
from openagent.telemetry.accounts import BudgetNotice, Spent
from openagent.telemetry.journal import Journal
from openagent.telemetry.ledger import BudgetLedger, ConfiguredCaps, DayLimits, Limits
from openagent.telemetry.prices import PriceBook, PricedProvider
from openagent.telemetry.quotas import Quotas
from openagent.telemetry.tokens import TokenUsage

T = TypeVar("T")


def price_book(load: Callable[[], config.Config], usual: Mapping[str, ProviderSettings]) -> PriceBook:
    """Of the settings as they are by now. `usual` are the providers that are known without any."""
    return PriceBook(*_priced(load().settings, usual), renewed=_when_changed(load, lambda now: _priced(now, usual)))


def _when_changed(load: Callable[[], config.Config], made: Callable[[config.Settings], T]) -> Callable[[], T | None]:
    """What is made of the settings, whenever they are others than when it was last asked for."""
    last = load()

    def renewed() -> T | None:
        nonlocal last
        try:
            now = load()
        except OpenAgentError:  # the file is being edited: what held before still does
            return None
        if now is last:
            return None
        last = now
        return made(now.settings)

    return renewed


def _priced(
    settings: config.Settings, usual: Mapping[str, ProviderSettings]
) -> tuple[dict[str, PricedProvider], dict[str, Any]]:
    kinds = {kind: PricedProvider(kind) for kind in PROVIDER_KINDS}
    named = {
        name: PricedProvider(given.kind, given.base_url) for name, given in {**usual, **settings.providers}.items()
    }
    return {**kinds, **named}, {name: msgspec.to_builtins(price) for name, price in settings.prices.items()}


def _caps(settings: config.Settings) -> ConfiguredCaps:
    budget = settings.budget
    return ConfiguredCaps(
        session=Limits(tree_usd=budget.session_usd, tree_tokens=budget.session_tokens),
        day=DayLimits(usd=budget.day_usd, tokens=budget.day_tokens),
        warn_at=budget.warn_at,
    )


def build_ledger(
    load: Callable[[], config.Config],
    prices: PriceBook,
    env: Mapping[str, str],
    store: Store,
    *,
    tell: Callable[[str, Event], None],
    charged: Callable[[TokenUsage], None],
    quotas: Quotas,
) -> BudgetLedger:
    """`charged` hears of every request that is paid for."""
    journal = Journal(Path(env["LEDGER_PATH"])) if env.get("LEDGER_PATH") else None

    def on_record(record: TokenUsage) -> None:
        charged(record)
        if journal is not None:
            journal.append(record)

    def on_notice(notice: BudgetNotice) -> None:
        kind = BudgetWarning if notice.kind == "warning" else BudgetExceeded
        # A sub-agent met the cap of a session above it: whoever set it looks there.
        for session in dict.fromkeys((notice.session, notice.owner or notice.session)):
            tell(session, kind(scope=notice.scope, spent=notice.spent, limit=notice.limit, unit=notice.unit))

    async def spent_since(start: float) -> Spent:
        totals = await store.usage_totals(since=start)
        return Spent(totals.tokens.input_tokens + totals.tokens.output_tokens, totals.cost_usd)

    caps = _caps(load().settings)
    return BudgetLedger(
        prices,
        defaults=caps.session,
        day=caps.day,
        warn_at=caps.warn_at,
        renewed=_when_changed(load, _caps),
        spent_since=spent_since,
        on_notice=on_notice,
        on_record=on_record,
        quotas=quotas,
    )
