"""Retries, pacing, circuit breaker, failover, routing and cache, against a server that misbehaves."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.simulator import Simulator
from openagent.config.settings import ProviderSettings
from openagent.plugins.provider import (
    Answer,
    AuthenticationFailed,
    ConnectionFailed,
    ContextTooLong,
    FailoverNotice,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderOverloaded,
    QuotaExhausted,
    RateLimited,
    RetryNotice,
    RoutedNotice,
    StreamItem,
    TextChunk,
)
from openagent.plugins.provider_limits import OwnLimits
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.providers.breaker import CircuitBreaker, CircuitOpen
from openagent.providers.build import build_provider, make_resilient
from openagent.providers.cache import CachingProvider
from openagent.providers.failover import FailoverPolicy, FailoverProvider, ModelChoice
from openagent.providers.retry import RetryingProvider, RetryPolicy
from openagent.providers.routing import DEFAULT_RULES, RoutingProvider, RoutingRule, choose
from openagent.providers.several_endpoints import SeveralEndpoints

from .harness import FORMATS, MODELS, answer_to, ask, canned, connect, items_of, text_of, user

pytestmark = pytest.mark.anyio

HELLO: dict[str, Any] = {"steps": [{"text": "Hello, whoever you are.", "chunk_chars": 6}], "loop": True}


class Naps:
    """Stands in for sleeping: remembers for how long, and takes no time."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, _now: asyncio.Event, seconds: float) -> None:
        self.taken.append(seconds)


def shown(items: list[StreamItem]) -> str:
    """What a client that obeys the notices has on its screen."""
    text = ""
    for item in items:
        if isinstance(item, RetryNotice | FailoverNotice):
            text = ""
        elif isinstance(item, TextChunk):
            text += item.text
    return text


@pytest.mark.parametrize(
    "fault", ["429", "500", "529", "disconnect", "garbage", "truncated", "no_end", "reset", "html"]
)
@pytest.mark.parametrize("wire", FORMATS)
async def test_a_passing_fault_costs_a_notice_and_nothing_else(wire: str, fault: str):
    naps = Naps()
    async with Simulator(HELLO) as sim, connect(wire, sim) as inner:
        provider = RetryingProvider(inner, RetryPolicy(), wait=naps)
        sim.fail_next(fault, times=2, after=2)
        items = await items_of(provider, ask(wire))
    notices = [item for item in items if isinstance(item, RetryNotice)]
    assert [(notice.provider, notice.attempt) for notice in notices] == [(wire, 1), (wire, 2)]
    answered_wrongly = {"disconnect", "garbage", "truncated", "no_end"}
    assert {notice.max_attempts for notice in notices} == {5 if fault in answered_wrongly else 31}
    assert [notice.delay_s for notice in notices] == naps.taken
    assert all(notice.error.message for notice in notices)
    answer = items[-1]
    assert isinstance(answer, Answer)
    assert shown(items) == text_of(answer.parts) == "Hello, whoever you are."


async def test_retrying_ends():
    naps = Naps()
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        sim.fail_next("503", times=10)
        with pytest.raises(ProviderOverloaded):
            await items_of(RetryingProvider(inner, RetryPolicy(attempts=3), wait=naps), ask("chat"))
        assert len(sim.requests) == 3


async def test_what_cannot_succeed_is_not_tried_again():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        sim.fail_next("401")
        with pytest.raises(AuthenticationFailed):
            await items_of(RetryingProvider(inner, RetryPolicy(), wait=Naps()), ask("chat"))
        assert len(sim.requests) == 1


async def test_a_provider_that_says_when_is_believed():
    naps = Naps()
    async with Simulator(HELLO) as sim, connect("anthropic", sim) as inner:
        sim.fail_next("429", retry_after=90)
        await items_of(RetryingProvider(inner, RetryPolicy(max_delay=30), wait=naps), ask("anthropic"))
    assert 90 <= naps.taken[0] <= 91


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Pauses:
    """Stands in for waiting: time passes at once, unless whoever waits is woken."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.taken: list[float] = []

    async def __call__(self, woken: asyncio.Event, seconds: float) -> None:
        await asyncio.sleep(0)
        self.taken.append(seconds)
        if not woken.is_set():
            self._clock.now += seconds


async def test_a_server_that_refuses_connections_is_waited_for_about_ten_minutes():
    clock = Clock()
    pauses = Pauses(clock)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        gone = ProviderSettings(kind="compatible", base_url=f"http://127.0.0.1:{nobody.getsockname()[1]}/v1")
        inner = build_provider("gone", gone, {})
        provider = RetryingProvider(inner, RetryPolicy(), wait=pauses, clock=clock)
        with pytest.raises(ConnectionFailed):
            await items_of(provider, ask("chat"))
    assert 450 <= sum(pauses.taken) <= 630
    assert len(pauses.taken) <= 30
    assert pauses.taken[0] <= 1
    assert max(pauses.taken) <= 30


@pytest.mark.parametrize("retry_after", [1e20, 1e300, 4000.0])
async def test_no_provider_makes_a_request_wait_longer_than_its_retries_may_take(retry_after: float):
    clock = Clock()
    pauses = Pauses(clock)
    async with Simulator(HELLO) as sim, connect("anthropic", sim) as inner:
        sim.fail_next("503", times=100, retry_after=retry_after)
        provider = RetryingProvider(inner, RetryPolicy(), wait=pauses, clock=clock)
        with pytest.raises(ProviderOverloaded):
            await items_of(provider, ask("anthropic"))
    assert sum(pauses.taken) <= 630


@pytest.mark.parametrize("value", ["inf", "nan", "1e999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_pause_that_is_no_number_of_seconds_is_bounded_too(value: str):
    naps = Naps()
    async with canned('{"error": {"message": "down"}}', status="503 No", headers=f"Retry-After: {value}\r\n") as url:
        inner = build_provider("canned", ProviderSettings(kind="compatible", base_url=url), {})
        with pytest.raises(ProviderOverloaded):
            await items_of(RetryingProvider(inner, RetryPolicy(attempts=2), wait=naps), ask("chat"))
    assert naps.taken[0] <= 600


async def test_an_answer_that_breaks_off_is_asked_for_five_times_at_most():
    naps = Naps()
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        sim.fail_next("disconnect", times=50, after=2)
        with pytest.raises(ConnectionFailed):
            await items_of(RetryingProvider(inner, RetryPolicy(), wait=naps), ask("chat"))
        assert len(sim.requests) == 5


async def test_a_pause_ends_at_once_when_somebody_wants_it():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        sim.fail_next("503", retry_after=500)
        async with asyncio.timeout(5), aclosing(RetryingProvider(inner, RetryPolicy()).stream(ask("chat"))) as stream:
            items: list[StreamItem] = []
            async for item in stream:
                items.append(item)
                if isinstance(item, RetryNotice):
                    assert item.delay_s >= 500
                    item.now.set()
    assert shown(items) == "Hello, whoever you are."


class Held(OwnLimits):
    """As others who ask the same provider make it: it said when it wants to be asked again."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    async def next_start(self, provider: str, interval: float) -> float:
        return self.seconds

    async def hold(self, provider: str, seconds: float) -> None:
        self.seconds = seconds


async def test_a_person_who_wants_it_now_goes_before_what_the_provider_asked_for():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        sim.fail_next("429", retry_after=500)
        provider = RetryingProvider(inner, RetryPolicy(), limits=Held())
        async with asyncio.timeout(5), aclosing(provider.stream(ask("chat"))) as stream:
            items: list[StreamItem] = []
            async for item in stream:
                items.append(item)
                if isinstance(item, RetryNotice):
                    assert len([each for each in items if isinstance(each, RetryNotice)]) == 1
                    item.now.set()
    assert shown(items) == "Hello, whoever you are."


async def test_a_provider_that_is_left_alone_is_asked_at_once_when_somebody_wants_it():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=1, lasting=0, cooldown=500)
        sim.fail_next("500")
        with pytest.raises(ProviderOverloaded):
            await items_of(provider, ask("chat"))
        async with asyncio.timeout(5), aclosing(provider.stream(ask("chat"))) as stream:
            items: list[StreamItem] = []
            async for item in stream:
                items.append(item)
                if isinstance(item, RetryNotice):
                    item.now.set()
    assert shown(items) == "Hello, whoever you are."


async def test_another_model_is_asked_after_five_failures_and_not_after_ten_minutes():
    naps = Naps()
    async with (
        Simulator(HELLO) as sim,
        Simulator(HELLO) as spare,
        connect("chat", sim) as first,
        connect("responses", spare) as second,
    ):
        sim.fail_next("503", times=50)
        retrying = RetryingProvider(first, RetryPolicy(), wait=naps)
        provider = FailoverProvider(retrying, [ModelChoice(second, MODELS["responses"])])
        items = await items_of(provider, ask("chat"))
    assert shown(items) == "Hello, whoever you are."
    assert len(sim.requests) == 5


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_pauses_grow_and_stay_below_the_ceiling(attempt: int, chance: float):
    policy = RetryPolicy(base_delay=1, max_delay=30)
    delay = policy.delay(attempt, ProviderOverloaded("x"), chance)
    assert 0 <= delay <= min(30, 2 ** (attempt - 1))


def test_the_environment_sets_the_policy():
    env = {
        "AI_RETRY_TOTAL": "60",
        "AI_RETRY_ATTEMPTS": "2",
        "AI_RETRY_BASE_DELAY": "0.5",
        "AI_RETRY_MAX_DELAY": "9",
        "AI_RETRY_LOG_SILENT": "yes",
        "AI_REQUEST_INTERVAL": "1.5",
    }
    assert RetryPolicy.from_env(env) == RetryPolicy(2, 0.5, 9.0, False, 1.5, 60.0)
    assert RetryPolicy.from_env({}) == RetryPolicy()
    assert RetryPolicy.from_env({"AI_RETRY_TOTAL": "60"}).attempts == 7
    assert RetryPolicy.from_env({"AI_RETRY_TOTAL": "0"}).attempts == 1


@pytest.mark.parametrize("value", ["many", "-1", "nan", "inf"])
def test_a_senseless_variable_is_named(value: str):
    with pytest.raises(OpenAgentError, match="AI_RETRY_MAX_DELAY"):
        RetryPolicy.from_env({"AI_RETRY_MAX_DELAY": value})


@pytest.mark.parametrize("silent", [False, True])
async def test_retries_are_logged_unless_silenced(silent: bool, caplog: pytest.LogCaptureFixture):
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        sim.fail_next("500")
        with caplog.at_level(logging.WARNING, "openagent.providers.retry"):
            await items_of(RetryingProvider(inner, RetryPolicy(log=not silent), wait=Naps()), ask("chat"))
    assert bool(caplog.records) != silent
    assert "test-key" not in caplog.text


async def test_requests_keep_their_distance():
    naps = Naps()
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = RetryingProvider(inner, RetryPolicy(interval=5), wait=naps)
        await asyncio.gather(*(items_of(provider, ask("chat")) for _ in range(3)))
    assert [round(nap) for nap in naps.taken] == [5, 10]


async def test_a_cancel_reaches_through_every_layer():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = FailoverProvider(make_resilient(CachingProvider(inner), RetryPolicy()), [])
        sim.fail_next("stall", after=1)
        async with aclosing(provider.stream(ask("chat"))) as items:
            await anext(items)
        left_at = time.monotonic()
        await sim.until(lambda: sim.requests[0].disconnected_at)
        assert (sim.requests[0].disconnected_at or 0) - left_at < 0.1


async def test_a_provider_that_keeps_failing_is_left_alone_and_waited_for():
    clock = Clock()
    pauses = Pauses(clock)
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=2, lasting=10, cooldown=20, clock=clock, wait=pauses)
        sim.fail_next("500", times=3)
        for _ in range(2):
            with pytest.raises(ProviderOverloaded):
                await items_of(provider, ask("chat"))
            clock.now += 10
        clock.now -= 5
        with pytest.raises(ProviderOverloaded):
            await items_of(provider, ask("chat"))
        assert pauses.taken == [15], "what is left of the pause"
        notice, *items = await items_of(provider, ask("chat"))
        assert isinstance(notice, RetryNotice)
        assert (notice.attempt, notice.delay_s, notice.asked) == (1, 20, False)
        assert "left alone for 20 seconds" in notice.error.message
        assert shown(items) == "Hello, whoever you are."
        assert shown(await items_of(provider, ask("chat"))) == "Hello, whoever you are."
        assert (pauses.taken, len(sim.requests)) == ([15, 20], 5)


async def test_patience_with_a_provider_that_stays_away_ends():
    clock = Clock()
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=1, lasting=0, clock=clock, waits=0)
        sim.fail_next("500")
        with pytest.raises(ProviderOverloaded):
            await items_of(provider, ask("chat"))
        with pytest.raises(CircuitOpen, match="chat failed 1 times in a row"):
            await items_of(provider, ask("chat"))


async def test_one_blip_in_many_sessions_leaves_nobody_waiting():
    clock = Clock()
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=3, lasting=10, clock=clock, waits=0)
        sim.fail_next("503", times=10)
        asked = (items_of(provider, ask("chat")) for _ in range(10))
        assert all(
            isinstance(each, ProviderOverloaded) for each in await asyncio.gather(*asked, return_exceptions=True)
        )
        assert shown(await items_of(provider, ask("chat"))) == "Hello, whoever you are."


@pytest.mark.parametrize("fault", ["429", "401", "bad_request", "quota"])
async def test_a_refusal_by_a_provider_that_was_left_alone_proves_that_it_is_back(fault: str):
    clock = Clock()
    pauses = Pauses(clock)
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=1, lasting=0, clock=clock, wait=pauses)
        sim.fail_next("500")
        sim.fail_next(fault)
        for _ in range(2):
            with pytest.raises(OpenAgentError):
                await items_of(provider, ask("chat"))
        assert shown(await items_of(provider, ask("chat"))) == "Hello, whoever you are."
        assert pauses.taken == [20], "only the first had to wait"


async def test_all_who_wait_go_on_as_soon_as_one_got_through():
    clock = Clock()
    waiting: list[asyncio.Event] = []

    async def wait(closed: asyncio.Event, _seconds: float) -> None:
        waiting.append(closed)
        await closed.wait()

    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=1, lasting=0, clock=clock, wait=wait)
        sim.fail_next("500")
        with pytest.raises(ProviderOverloaded):
            await items_of(provider, ask("chat"))
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(items_of(provider, ask("chat"))) for _ in range(4)]
            while len(waiting) < 4:
                await asyncio.sleep(0)
            clock.now += 21
            await items_of(provider, ask("chat"))
        assert all(shown(task.result()) == "Hello, whoever you are." for task in asked)


async def test_a_probe_that_was_cancelled_lets_the_next_one_try():
    clock = Clock()
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=1, lasting=0, clock=clock, waits=0)
        sim.fail_next("500")
        sim.fail_next("hang")
        with pytest.raises(ProviderOverloaded):
            await items_of(provider, ask("chat"))
        clock.now += 21
        probe = asyncio.create_task(items_of(provider, ask("chat")))
        await sim.until(lambda: len(sim.requests) == 2)
        probe.cancel()
        await asyncio.wait([probe])
        assert shown(await items_of(provider, ask("chat"))) == "Hello, whoever you are."


async def test_nobody_waits_for_a_provider_that_is_left_alone_while_another_model_could_answer():
    async with (
        Simulator(HELLO) as sim,
        Simulator(HELLO) as spare,
        connect("anthropic", sim) as first,
        connect("gemini", spare) as second,
    ):
        broken = CircuitBreaker(first, threshold=1, lasting=0)
        sim.fail_next("500")
        with pytest.raises(ProviderOverloaded):
            await items_of(broken, ask("anthropic"))
        provider = FailoverProvider(broken, [ModelChoice(second, MODELS["gemini"])])
        items = await items_of(provider, ask("anthropic"))
        assert not [item for item in items if isinstance(item, RetryNotice)]
        assert "left alone" in next(item.reason for item in items if isinstance(item, FailoverNotice))
        assert shown(items) == "Hello, whoever you are."


async def test_a_refused_request_says_nothing_about_a_providers_health():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CircuitBreaker(inner, threshold=1, lasting=0, waits=0)
        sim.fail_next("bad_request")
        sim.fail_next("429")
        for _ in range(2):
            with pytest.raises(OpenAgentError):
                await items_of(provider, ask("chat"))
        await items_of(provider, ask("chat"))


@pytest.mark.parametrize("fault", ["401", "404", "quota", "500", "disconnect"])
async def test_another_model_takes_over_and_keeps_the_session(fault: str):
    clock = Clock(time.time())
    async with (
        Simulator(HELLO) as sim,
        Simulator(HELLO) as spare,
        connect("anthropic", sim) as first,
        connect("gemini", spare) as second,
    ):
        provider = FailoverProvider(first, [ModelChoice(second, MODELS["gemini"])], clock=clock)
        sim.fail_next(fault, after=2)
        items = await items_of(provider, ask("anthropic"))
        (notice,) = [item for item in items if isinstance(item, FailoverNotice)]
        assert notice.from_model == f"anthropic/{MODELS['anthropic']}"
        assert notice.to_model == f"gemini/{MODELS['gemini']}"
        assert notice.reason
        assert shown(items) == "Hello, whoever you are."

        announced, *rest = await items_of(provider, ask("anthropic"))
        assert isinstance(announced, FailoverNotice), "whoever pays is told before the first chunk"
        assert (announced.from_model, announced.to_model) == (notice.from_model, notice.to_model)
        assert shown(rest) == "Hello, whoever you are."
        assert (len(sim.requests), len(spare.requests)) == (1, 2), "the session stays where it was helped"
        await answer_to(provider, ask("anthropic", session="another"))
        assert (len(sim.requests), len(spare.requests)) == (2, 2), "other sessions are not affected"
        clock.now += 301
        await answer_to(provider, ask("anthropic"))
        assert (len(sim.requests), len(spare.requests)) == (3, 2), "later the first is tried again"


async def test_when_nobody_can_answer_the_last_error_is_raised():
    async with Simulator(HELLO) as sim, connect("chat", sim) as first, connect("responses", sim) as second:
        sim.fail_next("500")
        sim.fail_next("401")
        with pytest.raises(AuthenticationFailed):
            await items_of(FailoverProvider(first, [ModelChoice(second, MODELS["responses"])]), ask("chat"))


async def test_a_request_at_fault_is_not_passed_around():
    async with Simulator(HELLO) as sim, connect("chat", sim) as first, connect("responses", sim) as second:
        sim.fail_next("context_too_long")
        with pytest.raises(ContextTooLong):
            await items_of(FailoverProvider(first, [ModelChoice(second, "gpt-5")]), ask("chat"))
        assert len(sim.requests) == 1


async def test_a_used_up_quota_is_waited_for_when_so_configured():
    naps = Naps()
    async with Simulator(HELLO) as sim, connect("chat", sim) as first, connect("responses", sim) as second:
        policy = FailoverPolicy(on_quota="wait")
        provider = FailoverProvider(first, [ModelChoice(second, MODELS["responses"])], policy, wait=naps)
        sim.fail_next("429", retry_after=7200)
        items = await items_of(provider, ask("chat"))
        assert [record.format for record in sim.requests] == ["openai-chat", "openai-chat"]
    (notice,) = [item for item in items if isinstance(item, RetryNotice)]
    assert notice.error.code == "quota_exhausted"
    assert naps.taken == [notice.delay_s] == [pytest.approx(7200, abs=30)]


async def test_a_quota_that_resets_too_late_is_not_waited_for():
    async with Simulator(HELLO) as sim, connect("chat", sim) as first:
        provider = FailoverProvider(first, [], FailoverPolicy(on_quota="wait", longest_wait_s=60))
        sim.fail_next("429", retry_after=7200)
        with pytest.raises(QuotaExhausted):
            await items_of(provider, ask("chat"))


def working(*results: ToolResultPart, steps: int = 1) -> list[Message]:
    history = [user("Fix the flaky test")]
    for number in range(steps):
        history.append(Message(2 * number + 2, "assistant", [ToolCallPart("c", "shell")]))
        history.append(Message(2 * number + 3, "tool", list(results)))
    return history


def outcome(tool: str, *, is_error: bool = False) -> ToolResultPart:
    return ToolResultPart("c", tool, "…", is_error=is_error)


@pytest.mark.parametrize(
    ("history", "tier", "reason"),
    [
        ([user("Fix it")], "strong", "a new task is being understood"),
        (working(outcome("read_file")), "cheap", "reading and running"),
        (working(outcome("read_file"), outcome("edit_file")), "strong", "no rule applies"),
        (working(outcome("shell", is_error=True)), "strong", "something went wrong"),
        (working(outcome("shell"), steps=21), "strong", "the turn is taking long"),
    ],
)
def test_the_default_rules_choose_by_what_just_happened(history: list[Message], tier: str, reason: str):
    assert choose(ask("chat", *history), DEFAULT_RULES) == (tier, reason)


def test_rules_of_ones_own_are_tried_in_order():
    rules = [
        RoutingRule(use="strong", prompt_contains=["FLAKY"]),
        RoutingRule(use="cheap", prompt_shorter_than=100),
    ]
    assert choose(ask("chat", user("a flaky one")), rules) == ("strong", "prompt_contains = ['FLAKY']")
    assert choose(ask("chat", user("a short one")), rules) == ("cheap", "prompt_shorter_than = 100")
    assert choose(ask("chat", user("a long one" * 50)), rules) == ("strong", "no rule applies")


async def test_auto_says_which_model_and_why_before_anything_else():
    async with Simulator(HELLO) as sim, connect("chat", sim) as strong, connect("responses", sim) as cheap:
        provider = RoutingProvider(ModelChoice(strong, "big"), ModelChoice(cheap, "gpt-5"))
        first = await items_of(provider, ask("chat", model="auto"))
        second = await items_of(provider, ask("chat", *working(outcome("shell")), model="auto"))
        assert [record.json()["model"] for record in sim.requests] == ["big", "gpt-5"]
    assert first[0] == RoutedNotice("chat/big", "strong: a new task is being understood")
    assert second[0] == RoutedNotice("responses/gpt-5", "cheap: reading and running")


@pytest.mark.parametrize("wire", ["anthropic", "chat", "gemini"])
async def test_an_identical_request_at_temperature_0_is_answered_from_the_cache(wire: str):
    async with Simulator(HELLO) as sim, connect(wire, sim) as inner:
        provider = CachingProvider(inner)
        first = await answer_to(provider, ask(wire, temperature=0, session="a", thinking=None))
        again = await answer_to(provider, ask(wire, temperature=0, session="b", thinking=None))
        assert len(sim.requests) == 1
        assert again.parts == first.parts
        assert again.usage.input_tokens == 0 < first.usage.input_tokens
        await answer_to(provider, ask(wire, temperature=0, system="Other.", thinking=None))
        await answer_to(provider, ask(wire, temperature=0.5, thinking=None))
        await answer_to(provider, ask(wire, temperature=0.5, thinking=None))
        assert len(sim.requests) == 4


async def test_the_cache_is_bounded():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CachingProvider(inner, max_bytes=1)
        for _ in range(2):
            await answer_to(provider, ask("chat", temperature=0))
        assert len(sim.requests) == 2


async def test_a_failed_answer_is_not_cached():
    async with Simulator(HELLO) as sim, connect("chat", sim) as inner:
        provider = CachingProvider(inner)
        sim.fail_next("429")
        with pytest.raises(RateLimited):
            await items_of(provider, ask("chat", temperature=0))
        assert text_of((await answer_to(provider, ask("chat", temperature=0))).parts)


async def test_the_address_that_answers_soonest_is_asked_first_where_that_is_wanted() -> None:
    took = {"slow": 2.0, "quick": 0.5}
    now = 0.0

    class Timed:
        """A provider whose answers begin when the test says."""

        def __init__(self, name: str, inner: Provider) -> None:
            self.name, self.scripted = name, False
            self._inner = inner

        async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
            nonlocal now
            now += took[self.name]
            async for item in self._inner.stream(request):
                yield item

        async def models(self) -> list[ModelInfo]:
            return await self._inner.models()

        async def close(self) -> None:
            await self._inner.close()

    async with (
        Simulator({"steps": [{"text": "slow"}], "loop": True}) as first,
        Simulator({"steps": [{"text": "quick"}], "loop": True}) as second,
        connect("chat", first) as one,
        connect("chat", second) as two,
    ):
        addresses = [("one", Timed("slow", one)), ("two", Timed("quick", two))]
        several = SeveralEndpoints(addresses, nearest=True, clock=lambda: now)
        told = [shown(await items_of(several, ask("chat"))) for _ in range(4)]
        assert told == ["slow", "quick", "quick", "quick"], "each is tried once, then the one that is nearer stays"
        second.fail_next("503")
        assert shown(await items_of(several, ask("chat"))) == "slow", "one that fails is no longer the nearest"
        took["quick"] = 9.0
        now += 31.0
        told = [shown(await items_of(several, ask("chat"))) for _ in range(4)]
        assert told[0] == "quick"
        assert told[-1] == "slow", "it has become slow since"
        in_order = SeveralEndpoints(addresses, clock=lambda: now)
        assert [shown(await items_of(in_order, ask("chat"))) for _ in range(2)] == ["slow", "slow"]


async def test_an_address_that_was_set_aside_is_asked_again_in_time() -> None:
    now = 0.0
    async with (
        Simulator({"steps": [{"text": "near"}], "loop": True}) as near,
        Simulator({"steps": [{"text": "far"}], "loop": True}) as far,
        connect("chat", near) as one,
        connect("chat", far) as two,
    ):
        several = SeveralEndpoints([("near", one), ("far", two)], clock=lambda: now)
        near.fail_next("503", times=2)
        assert shown(await items_of(several, ask("chat"))) == "far"
        now = 29.0
        assert shown(await items_of(several, ask("chat"))) == "far"
        assert len(near.requests) == 1
        now = 31.0
        assert shown(await items_of(several, ask("chat"))) == "far", "still down: set aside for twice as long"
        now = 90.0
        assert shown(await items_of(several, ask("chat"))) == "far"
        now = 92.0
        assert shown(await items_of(several, ask("chat"))) == "near"
        assert len(near.requests) == 3
