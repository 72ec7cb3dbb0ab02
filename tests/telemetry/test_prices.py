import subprocess
import sys

import genai_prices
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.usage import Usage
from openagent.telemetry.prices import PICO, PriceBook, PricedProvider

PROVIDERS = {
    "anthropic": PricedProvider("anthropic"),
    "work": PricedProvider("openai"),
    "gemini": PricedProvider("gemini"),
    "router": PricedProvider("compatible", "https://openrouter.ai/api/v1"),
    "lab": PricedProvider("compatible", "http://127.0.0.1:8000/v1"),
    "local": PricedProvider("local"),
    "demo": PricedProvider("demo"),
}
BOOK = PriceBook(PROVIDERS)
LISTED = {
    "anthropic/claude-sonnet-4-5": ("anthropic", "claude-sonnet-4-5"),
    "work/gpt-5": ("openai", "gpt-5"),
    "gemini/gemini-2.5-pro": ("google", "gemini-2.5-pro"),
}
counts = st.integers(0, 400_000)


@settings(max_examples=200, deadline=None)
@given(model=st.sampled_from(sorted(LISTED)), plain=counts, cached=counts, written=counts, output=counts)
def test_costs_agree_with_the_price_list_to_the_last_digit(
    model: str, plain: int, cached: int, written: int, output: int
) -> None:
    provider, name = LISTED[model]
    written = written if provider == "anthropic" else 0
    usage = Usage(plain + cached + written, output, cached, written, output // 2)
    listed = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=output,
            cache_read_tokens=cached,
            cache_write_tokens=written,
        ),
        name,
        provider_id=provider,
    )
    price = BOOK.price(model)
    assert price is not None
    assert price.cost(usage) == int(listed.total_price * PICO)


@settings(max_examples=200, deadline=None)
@given(
    model=st.sampled_from(sorted(LISTED)), usage=st.builds(Usage, counts, counts, counts, counts, counts), spare=counts
)
def test_no_usage_costs_more_than_the_worst_case(model: str, usage: Usage, spare: int) -> None:
    price = BOOK.price(model)
    assert price is not None
    prompt_rate, output_rate = price.worst_rates(usage.input_tokens + spare)
    assert price.cost(usage) <= usage.input_tokens * prompt_rate + usage.output_tokens * output_rate


def test_local_and_scripted_models_are_free() -> None:
    usage = Usage(1_000_000, 1_000_000)
    assert BOOK.cost_usd("local/smollm2", usage) == 0.0
    assert BOOK.cost_usd("demo/tour", usage) == 0.0


def test_a_compatible_server_is_priced_by_its_address_or_not_at_all() -> None:
    usage = Usage(1_000, 1_000)
    assert BOOK.cost_usd("router/anthropic/claude-sonnet-4.5", usage) == pytest.approx(0.018)
    assert BOOK.cost_usd("lab/claude-sonnet-4-5", usage) is None
    assert BOOK.cost_usd("anthropic/no-such-model", usage) is None


def test_config_overrides_the_list_by_name_and_by_pattern() -> None:
    book = PriceBook(
        PROVIDERS,
        {
            "lab/*": {"input": 0, "output": 0},
            "lab/big": {"input": 1.0, "output": 2.0, "cached": 0.1, "cache_write": 1.5, "reasoning": 4.0},
            "work/gpt-5": {"input": 2, "output": 2},
        },
    )
    usage = Usage(1_000_000, 1_000_000, cached_tokens=400_000, cache_write_tokens=100_000, reasoning_tokens=500_000)
    assert book.cost_usd("lab/small", usage) == 0.0
    assert book.cost_usd("lab/big", usage) == pytest.approx(0.5 + 0.04 + 0.15 + 1.0 + 2.0)
    assert book.cost_usd("work/gpt-5", usage) == pytest.approx(4.0)


@pytest.mark.parametrize("value", [{"input": 1}, {"input": "x", "output": 1}, {"input": -1, "output": 1}, {"in": 1}, 3])
def test_a_malformed_price_is_told_with_its_name(value: object) -> None:
    with pytest.raises(OpenAgentError, match="lab/big") as caught:
        PriceBook(PROVIDERS, {"lab/big": value})
    assert caught.value.info.code == "config_error"


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    script = (
        "import sys, openagent.telemetry.ledger, openagent.telemetry.journal, openagent.telemetry.cache_misses;"
        "import openagent.telemetry.reports, openagent.vault.vault;"
        "heavy = {'bpe_openai', 'pydantic', 'cryptography', 'keyring', 'httpx2'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
