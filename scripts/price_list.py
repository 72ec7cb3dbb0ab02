"""The list of prices that the program bundles, from the version of the package `genai-prices` that our lock names.

`--write` renews, `--check` fails when they differ.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from genai_prices import types as theirs
from genai_prices.data import providers

from openagent.telemetry.price_list import FILE, Amount, ListedModel, ListedPrice, ListedProvider, Match, Steps

NAMES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "reasoning": "output_reasoning_mtok",
    "long_cache_write": "cache_write_1h_mtok",
    "searches": "web_searches_kcount",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    text = written([_provider(each) for each in providers])
    if parser.parse_args().write:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.stderr.write(
            "The bundled list of prices is not what genai-prices says: .venv/bin/python scripts/price_list.py --write\n"
        )
        return 1
    return 0


def written(all_: Sequence[ListedProvider]) -> str:
    """A line for each model, so that a change shows whose price it is."""
    return "[\n" + ",\n".join(map(_lines, all_)) + "\n]\n"


def _lines(provider: ListedProvider) -> str:
    models = ",\n".join("  " + msgspec.json.encode(each).decode() for each in provider.models)
    head = msgspec.json.encode(msgspec.structs.replace(provider, models=())).decode()
    return head.replace('"models":[]', f'"models":[\n{models}\n]')


def _provider(provider: theirs.Provider) -> ListedProvider:
    return ListedProvider(
        provider.id,
        provider.api_pattern,
        tuple(map(_model, provider.models)),
        of_models=_match(provider.model_match) if provider.model_match else None,
        also_called=_match(provider.provider_match) if provider.provider_match else None,
        sells=tuple(provider.fallback_model_providers or ()),
    )


def _model(model: theirs.ModelInfo) -> ListedModel:
    prices = model.prices if isinstance(model.prices, list) else [theirs.ConditionalPrice(prices=model.prices)]
    return ListedModel(_match(model.match), tuple(map(_price, prices)), model.context_window or 0)


def _price(price: theirs.ConditionalPrice) -> ListedPrice:
    amounts: dict[str, Any] = {ours: _amount(getattr(price.prices, name, None)) for ours, name in NAMES.items()}
    match price.constraint:
        case theirs.StartDateConstraint(start_date=since):
            return ListedPrice(**amounts, since=since)
        case theirs.TimeOfDateConstraint(start_time=begin, end_time=end):
            return ListedPrice(**amounts, between=(_in_utc(begin), _in_utc(end)))
        case None:
            return ListedPrice(**amounts)


def _amount(price: Any) -> Amount | None:
    if price is None:
        return None
    if isinstance(price, theirs.TieredPrices):
        return Steps(float(price.base), tuple((tier.start, float(tier.price)) for tier in price.tiers))
    return float(price)


def _in_utc(at: Any) -> Any:
    if at.utcoffset():
        raise SystemExit(f"A time of day that is not in UTC is listed, which price_list.py does not know: {at}")
    return at.replace(tzinfo=None)


def _match(clause: Any) -> Match:
    match clause:
        case theirs.ClauseEquals(equals=text):
            return Match(equals=text.lower())
        case theirs.ClauseStartsWith(starts_with=text):
            return Match(starts=text.lower())
        case theirs.ClauseEndsWith(ends_with=text):
            return Match(ends=text.lower())
        case theirs.ClauseContains(contains=text):
            return Match(contains=text.lower())
        case theirs.ClauseRegex(regex=text):
            return Match(regex=text)
        case theirs.ClauseOr(or_=clauses):
            return Match(any=tuple(map(_match, clauses)))
        case theirs.ClauseAnd(and_=clauses):
            return Match(all=tuple(map(_match, clauses)))
        case _:
            raise SystemExit(f"A clause is listed that price_list.py does not know: {clause}")


if __name__ == "__main__":
    raise SystemExit(main())
