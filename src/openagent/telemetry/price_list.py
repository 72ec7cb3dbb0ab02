"""The list of models with their prices and context windows, bundled as `price_list.json`.

`scripts/price_list.py` writes it from the package `genai-prices`, and a test holds the two alike. The package itself
takes a tenth of a second to load, and the first answer of a daemon would wait for it.
"""

import re
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

FILE = Path(__file__).with_suffix(".json")
_COMPACT_DATE = re.compile(r"(?<=-)(20\d{2})(\d{2})(\d{2})(?=[-:]|$)")


class Match(Struct, frozen=True, omit_defaults=True):
    """Which names are meant. One of the fields is given."""

    equals: str | None = None
    starts: str | None = None
    ends: str | None = None
    contains: str | None = None
    regex: str | None = None
    any: "tuple[Match, ...] | None" = None
    all: "tuple[Match, ...] | None" = None

    def fits(self, name: str) -> bool:
        """`name` in lower case, as the texts here are."""
        if self.equals is not None:
            return name == self.equals
        if self.starts is not None:
            return name.startswith(self.starts)
        if self.ends is not None:
            return name.endswith(self.ends)
        if self.contains is not None:
            return self.contains in name
        if self.regex is not None:
            return re.search(self.regex, name) is not None
        if self.any is not None:
            return any(each.fits(name) for each in self.any)
        return all(each.fits(name) for each in self.all or ())


class Steps(Struct, frozen=True):
    """A price that depends on how long the prompt is."""

    base: float
    tiers: tuple[tuple[int, float], ...]
    """From so many tokens on."""


Amount = float | Steps


class ListedPrice(Struct, frozen=True, omit_defaults=True):
    """Dollars per million tokens. None where the model has no such price."""

    input: Amount | None = None
    output: Amount | None = None
    cached: Amount | None = None
    cache_write: Amount | None = None
    reasoning: Amount | None = None
    long_cache_write: Amount | None = None
    searches: Amount | None = None
    """Per thousand."""
    since: date | None = None
    between: tuple[time, time] | None = None
    """In UTC; it may go over midnight."""

    def holds(self, now: datetime) -> bool:
        if self.since is not None:
            return now.date() >= self.since
        if self.between is None:
            return True
        begin, end = self.between
        if end < begin:
            return now.time() >= begin or now.time() < end
        return begin <= now.time() < end


class ListedModel(Struct, frozen=True, omit_defaults=True):
    match: Match
    prices: tuple[ListedPrice, ...]
    """The last one that holds is asked for; the first when none does."""
    context_window: int = 0

    def price_at(self, at: float) -> ListedPrice:
        now = datetime.fromtimestamp(at, UTC)
        return next((price for price in reversed(self.prices) if price.holds(now)), self.prices[0])


class ListedProvider(Struct, frozen=True, omit_defaults=True):
    id: str
    url: str
    """A regular expression for the beginning of its addresses."""
    models: tuple[ListedModel, ...]
    of_models: Match | None = None
    """Names of models by which this provider is recognized."""
    also_called: Match | None = None
    sells: tuple[str, ...] = ()
    """Ids of providers whose models it has too."""


@cache
def _providers() -> tuple[ListedProvider, ...]:
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[ListedProvider, ...])


def find_model(model: str, provider: str = "", url: str = "") -> ListedModel | None:
    """What `provider` sells under this name. Without one, the address or the model's name says whose it is."""
    model = model.lower()
    seller = _find_provider(model, provider, url)
    if seller is None:
        return None
    return _of(seller, model) or _of(seller, _COMPACT_DATE.sub(_with_dashes, model))


def _find_provider(model: str, provider: str, url: str) -> ListedProvider | None:
    everybody = _providers()
    if provider:
        name = provider.lower().strip()
        of_that_name = (each for each in everybody if each.id == name)
        also_called = (each for each in everybody if each.also_called is not None and each.also_called.fits(name))
        return next(of_that_name, None) or next(also_called, None)
    if url:
        return next((each for each in everybody if re.match(each.url, url)), None)
    return next((each for each in everybody if each.of_models is not None and each.of_models.fits(model)), None)


def _of(provider: ListedProvider, model: str) -> ListedModel | None:
    sellers = [provider, *(each for id_ in provider.sells for each in _providers() if each.id == id_)]
    return next((each for seller in sellers for each in seller.models if each.match.fits(model)), None)


def _with_dashes(found: re.Match[str]) -> str:
    """Some routers write `gpt-5.2-20251211`, and the list has `gpt-5.2-2025-12-11`."""
    year, month, day = map(int, found.groups())
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return found[0]
