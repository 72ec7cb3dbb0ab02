"""Every fault, in every format: one typed error, one clear sentence, and the provider goes on working."""

import asyncio
import re
import time
from contextlib import aclosing

import pytest

from devtools.simulator import Simulator
from openagent.plugins.provider import (
    Answer,
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    MalformedAnswer,
    ModelNotFound,
    ProviderError,
    ProviderOverloaded,
    ProviderTimeout,
    QuotaExhausted,
    RateLimited,
    RequestRejected,
    TextChunk,
)

from .harness import FORMATS, answer_to, ask, connect, items_of, text_of

pytestmark = [pytest.mark.anyio]
every_format = pytest.mark.parametrize("wire", FORMATS)

LONG = "Words that take several chunks to say, one after the other, until they are all said."

FAULTS: list[tuple[str, type[ProviderError]]] = [
    ("401", AuthenticationFailed),
    ("403", AuthenticationFailed),
    ("404", ModelNotFound),
    ("429", RateLimited),
    ("500", ProviderOverloaded),
    ("503", ProviderOverloaded),
    ("529", ProviderOverloaded),
    ("overloaded", ProviderOverloaded),
    ("quota", QuotaExhausted),
    ("context_too_long", ContextTooLong),
    ("bad_request", RequestRejected),
    ("disconnect", ConnectionFailed),
    ("garbage", MalformedAnswer),
    ("truncated", MalformedAnswer),
    ("no_end", ConnectionFailed),
    ("stream_error", ProviderOverloaded),
    ("html", ProviderOverloaded),
    ("reset", ConnectionFailed),
]


@every_format
@pytest.mark.parametrize(("fault", "expected"), FAULTS, ids=[name for name, _ in FAULTS])
async def test_a_fault_becomes_one_typed_error_and_the_next_request_works(
    wire: str, fault: str, expected: type[ProviderError]
):
    async with Simulator({"steps": [{"text": LONG}], "loop": True}) as sim, connect(wire, sim) as provider:
        sim.fail_next(fault, after=2)
        with pytest.raises(ProviderError) as caught:
            await items_of(provider, ask(wire))
        error = caught.value
        assert type(error) is expected
        assert error.info.message.startswith((wire, "The ")), "it says who"
        assert error.info.message.endswith((".", "…")), "it is a sentence"
        assert "\n" not in error.info.message
        assert "test-key" not in str(error)
        assert error.info.hint, "it says what to do"
        assert text_of((await answer_to(provider, ask(wire))).parts) == LONG


@every_format
async def test_what_arrived_before_a_fault_was_already_shown(wire: str):
    async with Simulator([{"text": LONG, "chunk_chars": 8}]) as sim, connect(wire, sim) as provider:
        sim.fail_next("disconnect", after=3)
        shown: list[str] = []
        with pytest.raises(ConnectionFailed):
            async with aclosing(provider.stream(ask(wire))) as items:
                shown.extend([item.text async for item in items if isinstance(item, TextChunk)])
    assert "".join(shown) in ("", LONG[:24])


@every_format
@pytest.mark.parametrize("fault", ["stall", "hang"])
async def test_a_server_that_falls_silent_is_given_up(wire: str, fault: str):
    async with Simulator([{"text": LONG}]) as sim, connect(wire, sim, timeout=0.15) as provider:
        sim.fail_next(fault, after=1)
        with pytest.raises(ProviderTimeout, match=wire):
            await items_of(provider, ask(wire))
        await sim.until(lambda: sim.requests[0].disconnected_at)


@every_format
@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_the_server_sees_a_cancel_at_once(wire: str, how: str):
    async with Simulator([{"text": LONG, "chunk_chars": 4}]) as sim, connect(wire, sim) as provider:
        sim.fail_next("stall", after=2)
        stream = provider.stream(ask(wire))
        await anext(stream)
        if how == "close":
            left_at = time.monotonic()
            await stream.aclose()
        else:
            await anext(stream)
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            left_at = time.monotonic()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await sim.until(lambda: sim.requests[0].disconnected_at)
        seen_at = sim.requests[0].disconnected_at
        assert seen_at is not None
        assert seen_at - left_at < 0.1
        assert isinstance((await items_of(provider, ask(wire)))[-1], Answer)


@every_format
async def test_retry_after_is_read(wire: str):
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim) as provider:
        sim.fail_next("429", retry_after=7)
        with pytest.raises(RateLimited) as caught:
            await items_of(provider, ask(wire))
    assert caught.value.retry_after == 7
    assert caught.value.retryable


@every_format
async def test_a_very_long_retry_after_is_a_quota(wire: str):
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim) as provider:
        sim.fail_next("429", retry_after=7200)
        with pytest.raises(QuotaExhausted) as caught:
            await items_of(provider, ask(wire))
    assert caught.value.resets_at == pytest.approx(time.time() + 7200, abs=60)
    assert not caught.value.retryable


@every_format
async def test_a_wrong_key_says_where_to_put_the_right_one(wire: str):
    async with Simulator([{"text": "x"}], require_key="right") as sim, connect(wire, sim) as provider:
        with pytest.raises(AuthenticationFailed) as caught:
            await items_of(provider, ask(wire))
    assert caught.value.info.message == f"{wire} refused the API key."
    assert f"`openagent auth add {wire}`" in caught.value.info.hint
    assert wire == "chat" or re.search(r"Set (ANTHROPIC|OPENAI|GEMINI)_API_KEY", caught.value.info.hint)


async def test_an_expired_token_asks_for_a_new_login():
    async with Simulator([{"text": "x"}]) as sim, connect("anthropic", sim, auth="oauth") as provider:
        sim.fail_next("401")
        with pytest.raises(AuthenticationFailed) as caught:
            await items_of(provider, ask("anthropic"))
    assert caught.value.info.message == "anthropic refused the login token."
    assert "`openagent auth login anthropic`" in caught.value.info.hint


@every_format
async def test_an_unknown_model_says_how_to_list_the_known(wire: str):
    async with Simulator({"steps": [{"text": "x"}], "models": ["known"]}) as sim, connect(wire, sim) as provider:
        with pytest.raises(ModelNotFound) as caught:
            await items_of(provider, ask(wire, model="nonesuch", thinking=None))
    assert "'nonesuch'" in caught.value.info.message
    assert f"`openagent models list {wire}`" in caught.value.info.hint


@every_format
async def test_without_a_key_nothing_is_sent(wire: str):
    if wire == "chat":
        pytest.skip("compatible servers may need no key")
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim, api_key="") as provider:
        with pytest.raises(AuthenticationFailed, match="There is no API key"):
            await items_of(provider, ask(wire))
        assert not sim.requests


@every_format
async def test_a_key_with_a_line_break_is_refused_without_showing_it(wire: str):
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim, api_key="secret\nkey") as provider:
        with pytest.raises(RequestRejected) as caught:
            await items_of(provider, ask(wire))
        assert not sim.requests
    assert "secret" not in str(caught.value)


@every_format
@pytest.mark.parametrize("secret", ["sk-abcdef123456", "AIzaSyA1234567890", "Bearer abcdefgh", "ghp_abcdefgh1234"])
async def test_what_a_vendor_repeats_of_a_key_is_not_passed_on(wire: str, secret: str):
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim) as provider:
        sim.fail_next("bad_request", message=f"I do not like {secret} at all")
        with pytest.raises(RequestRejected, match=re.escape("I do not like [secret] at all.")):
            await items_of(provider, ask(wire))


@every_format
async def test_nobody_listening_is_said_plainly(wire: str):
    async with Simulator([{"text": "x"}]) as sim:
        pass
    async with connect(wire, sim) as provider:
        with pytest.raises(ConnectionFailed, match="Could not connect"):
            await items_of(provider, ask(wire))
