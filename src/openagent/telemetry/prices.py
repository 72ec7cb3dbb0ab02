"""What tokens cost: from the bundled price list, or from config.

Money is counted in whole trillionths of a dollar ("pico"), so that sums are exact and a cap is a cap.
"""

import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Struct

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.usage import Usage
from openagent.telemetry.price_list import Amount, Steps, find_model

PICO = 1_000_000_000_000
_PICO_PER_TOKEN = 1_000_000
"""A dollar per million tokens, in trillionths per token."""
_FRESH_FOR = 3600.0
"""Some prices change with the date or the time of day."""
_SAME_PRICE = 1800.0
"""No price that is listed changes but at a full or half hour."""

FREE_KINDS = frozenset({"local", "demo"})
LISTED_AS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google", "azure": "azure"}


class Rates(Struct, frozen=True):
    """Trillionths of a dollar per token."""

    input: int
    output: int
    cached: int
    cache_write: int
    reasoning: int
    long_cache_write: int = 0
    """What is written to a cache to stay for an hour. 0: as `cache_write`."""


class Tier(Struct, frozen=True):
    """These rates hold for the whole request when its prompt is longer than `above`."""

    above: int
    rates: Rates


class Price(Struct, frozen=True):
    rates: Rates
    tiers: tuple[Tier, ...] = ()
    """Shortest first."""
    search: int = 0
    """One search of the web that the provider makes."""

    def cost(self, usage: Usage, *, long_cache_tokens: int = 0, searches: int = 0) -> int:
        """`long_cache_tokens`: the part of what was written to a cache that stays for an hour."""
        rates = self._rates_for(usage.input_tokens)
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        for_long = min(long_cache_tokens, written) if rates.long_cache_write else 0
        reasoned = min(usage.reasoning_tokens, usage.output_tokens)
        return (
            (usage.input_tokens - cached - written) * rates.input
            + cached * rates.cached
            + (written - for_long) * rates.cache_write
            + for_long * rates.long_cache_write
            + (usage.output_tokens - reasoned) * rates.output
            + reasoned * rates.reasoning
            + searches * self.search
        )

    def worst_rates(self, prompt_tokens: int) -> tuple[int, int]:
        """The most that one token of a prompt of up to this length, and one token of its answer, can cost."""
        possible = [self.rates, *(tier.rates for tier in self.tiers if tier.above < prompt_tokens)]
        return (
            max(max(rates.input, rates.cached, rates.cache_write) for rates in possible),
            max(max(rates.output, rates.reasoning) for rates in possible),
        )

    def _rates_for(self, prompt_tokens: int) -> Rates:
        rates = self.rates
        for tier in self.tiers:
            if prompt_tokens > tier.above:
                rates = tier.rates
        return rates


FREE = Price(Rates(0, 0, 0, 0, 0))


class TokenPrices(Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens, as in config. Cached tokens cost what input costs, reasoning what
    output costs, unless told."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None
    long_cache_write: float | None = None

    def rates(self) -> Rates:
        return Rates(
            input=_pico(self.input),
            output=_pico(self.output),
            cached=_pico(self.input if self.cached is None else self.cached),
            cache_write=_pico(self.input if self.cache_write is None else self.cache_write),
            reasoning=_pico(self.output if self.reasoning is None else self.reasoning),
            long_cache_write=_pico(self.long_cache_write or 0.0),
        )


class PricedProvider(Struct, frozen=True):
    """What the price list needs to know about a configured provider."""

    kind: str
    base_url: str = ""


class PriceBook:
    def __init__(
        self,
        providers: Mapping[str, PricedProvider],
        overrides: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        renewed: Callable[[], "tuple[Mapping[str, PricedProvider], Mapping[str, Any]] | None"] = lambda: None,
    ) -> None:
        """`overrides`: from `provider/model`, or a pattern such as `mine/*`, to a TokenPrices as plain data. `renewed`
        gives both anew, when they have changed since it was last asked."""
        self._clock = clock
        self._renewed = renewed
        self._take(providers, overrides or {})

    def _take(self, providers: Mapping[str, PricedProvider], overrides: Mapping[str, Any]) -> None:
        self._providers = dict(providers)
        self._overrides = {pattern: _override(pattern, value) for pattern, value in overrides.items()}
        self._known: dict[str, tuple[float, Price | None]] = {}
        self._then: dict[tuple[str, float], Price | None] = {}

    def price(self, model: str) -> Price | None:
        """None when it is not known."""
        if changed := self._renewed():
            self._take(*changed)
        now = self._clock()
        if (found := self._known.get(model)) and now - found[0] < _FRESH_FOR:
            return found[1]
        price = self._find(model, now)
        self._known[model] = (now, price)
        return price

    def price_at(self, model: str, at: float) -> Price | None:
        """What it cost then: prices change, and the list knows since when each holds. Also of providers that nobody has
        configured here. None when it is not known."""
        time_ = int(at // _SAME_PRICE) * _SAME_PRICE
        if (model, time_) not in self._then:
            provider, _, name = model.partition("/")
            found = self._find(model, time_)
            if found is None and provider not in self._providers:
                found = _listed_price(name, LISTED_AS.get(provider, provider), "", time_)
                found = found or _listed_price(name, "", "", time_)
            self._then[model, time_] = found
        return self._then[model, time_]

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        price = self.price(model)
        return None if price is None else price.cost(usage) / PICO

    def _find(self, model: str, now: float) -> Price | None:
        if model in self._overrides:
            return self._overrides[model]
        for pattern, price in self._overrides.items():
            if fnmatchcase(model, pattern):
                return price
        provider, _, name = model.partition("/")
        configured = self._providers.get(provider, PricedProvider(kind=provider))
        if configured.kind in FREE_KINDS:
            return FREE
        if listed := LISTED_AS.get(configured.kind):
            return _listed_price(name, listed, "", now)
        if configured.base_url:
            return _listed_price(name, "", configured.base_url, now)
        return None


def _listed_price(model: str, provider: str, url: str, now: float) -> Price | None:
    """None for models that are not billed by tokens, too."""
    found = find_model(model, provider, url)
    listed = found.price_at(now) if found is not None else None
    if listed is None or listed.input is None or listed.output is None:
        return None
    amounts = msgspec.structs.asdict(listed)
    starts = sorted({start for amount in amounts.values() if isinstance(amount, Steps) for start, _ in amount.tiers})

    def rates(prompt_tokens: int) -> Rates:
        at = {name: _amount_at(amounts[name], prompt_tokens) for name in TokenPrices.__struct_fields__}
        return msgspec.convert(at, TokenPrices).rates()

    searches = listed.searches if isinstance(listed.searches, float) else 0.0
    tiers = tuple(Tier(above=start, rates=rates(start + 1)) for start in starts)
    return Price(rates(0), tiers, round(searches * PICO / 1000))


def _amount_at(amount: Amount | None, prompt_tokens: int) -> float | None:
    if not isinstance(amount, Steps):
        return amount
    return max((tier for tier in amount.tiers if tier[0] < prompt_tokens), default=(0, amount.base))[1]


def _pico(dollars_per_million: float) -> int:
    return round(dollars_per_million * _PICO_PER_TOKEN)


def _override(pattern: str, value: Any) -> Price:
    try:
        prices = msgspec.convert(value, TokenPrices)
    except msgspec.ValidationError as problem:
        raise OpenAgentError(
            "config_error",
            f"The price of {pattern!r} in the config is not well formed: {problem}.",
            hint="Give `input` and `output` (and `cached`, `cache_write`, `reasoning`) in dollars per million tokens.",
        ) from None
    if min(msgspec.structs.astuple(prices.rates())) < 0:
        raise OpenAgentError(
            "config_error", f"The price of {pattern!r} in the config is negative.", hint="Give 0 for a free model."
        )
    return Price(prices.rates())
