"""The bundled list says what the package says from which it is made, which is there for tests alone."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from genai_prices.data_snapshot import get_snapshot

from openagent.telemetry.price_list import Steps, find_model
from scripts.price_list import NAMES

DAYS = [
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2026, 11, 1, 3, 15, tzinfo=UTC),
    datetime(2026, 11, 1, 17, 0, tzinfo=UTC),
]
EVERYBODY = get_snapshot().providers
SOME = 12
"""One model in twelve is looked up: all of them would take a minute."""


@pytest.mark.parametrize("provider", [each.id for each in EVERYBODY])
def test_models_of_each_provider_have_the_prices_that_the_package_knows(provider: str) -> None:
    models = next(each.models for each in EVERYBODY if each.id == provider)
    for model in models[::SOME]:
        for name in (model.id, model.id.upper(), f"{model.id}-20251211", f"{model.id}-latest"):
            assert _ours(name, provider, "") == _theirs(name, provider, None), name


@pytest.mark.parametrize(
    "url",
    [
        "https://openrouter.ai/api/v1",
        "https://api.deepseek.com",
        "https://api.groq.com/openai/v1",
        "https://api.mistral.ai/v1",
        "https://example.azure.com/openai",
        "http://127.0.0.1:8000/v1",
    ],
)
def test_an_address_tells_whose_models_they_are(url: str) -> None:
    sellers = [each for each in EVERYBODY if re.match(each.api_pattern, url)]
    for model in (sellers or EVERYBODY)[0].models[::SOME]:
        assert _ours(model.id, "", url) == _theirs(model.id, None, url), model.id


@pytest.mark.parametrize(
    "provider", ["Anthropic", "google-vertex", "gemini", "amazon-bedrock", "openai-codex", "nobody"]
)
def test_providers_have_other_names(provider: str) -> None:
    for name in ("claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"):
        assert _ours(name, provider, "") == _theirs(name, provider, None)


@pytest.mark.parametrize(
    "name", ["claude-opus-4-1", "gpt-5.2-20251211", "gemini-2.5-pro", "grok-4", "deepseek-chat", "x"]
)
def test_a_name_alone_tells_of_its_maker(name: str) -> None:
    assert _ours(name, "", "") == _theirs(name, None, None)


def _theirs(name: str, provider: str | None, url: str | None) -> list[Any] | None:
    try:
        _, model = get_snapshot().find_provider_model(name, None, provider, url)
    except LookupError:
        return None
    listed = [model.get_prices(day) for day in DAYS]
    return [
        model.context_window or 0,
        *([_plain(getattr(each, key, None)) for key in NAMES.values()] for each in listed),
    ]


def _plain(price: Any) -> Any:
    if hasattr(price, "tiers"):
        return Steps(float(price.base), tuple((tier.start, float(tier.price)) for tier in price.tiers))
    return None if price is None else float(price)


def _ours(name: str, provider: str, url: str) -> list[Any] | None:
    model = find_model(name, provider, url)
    if model is None:
        return None
    listed = [model.price_at(day.timestamp()) for day in DAYS]
    return [model.context_window, *([getattr(each, key) for key in NAMES] for each in listed)]
