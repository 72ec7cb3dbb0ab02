import asyncio
import random
from collections.abc import Awaitable
from contextlib import suppress
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.plugins.ledger import Reservation
from openagent.plugins.provider import ModelRequest, ToolSchema
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, TextPart
from openagent.protocol.usage import Usage
from openagent.telemetry.accounts import BudgetNotice, Spent
from openagent.telemetry.counting import prompt_ceiling
from openagent.telemetry.ledger import BudgetLedger, DayLimits, Limits
from openagent.telemetry.prices import PriceBook, PricedProvider
from openagent.telemetry.tokens import TokenUsage

pytestmark = pytest.mark.anyio

MODEL = "anthropic/claude-sonnet-4-5"
DEAR = {"test/dear": {"input": 10.0, "output": 100.0}}
BOOK = PriceBook(
    {"anthropic": PricedProvider("anthropic"), "test": PricedProvider("compatible"), "demo": PricedProvider("demo")},
    DEAR,
)


def a_request(text: str = "hello", output: int | None = 1000, model: str = "dear") -> ModelRequest:
    message = Message(number=1, role="user", parts=[TextPart(text)])
    return ModelRequest(model=model, system="", messages=[message], max_output_tokens=output)


async def refusal(attempt: Awaitable[object]) -> str:
    with pytest.raises(OpenAgentError) as caught:
        await attempt
    assert caught.value.info.code == "budget_exceeded"
    assert caught.value.info.hint
    return str(caught.value)


async def test_a_session_is_refused_what_could_pass_its_cap() -> None:
    notices: list[BudgetNotice] = []
    ledger = BudgetLedger(BOOK, defaults=Limits(session_usd=0.05), on_notice=notices.append)
    message = await refusal(ledger.reserve("s", "test/dear", a_request("x" * 3000), "conversation"))
    assert "budget for this session" in message
    assert "of $0.05 is spent" in message
    assert [(notice.kind, notice.scope, notice.limit, notice.unit) for notice in notices] == [
        ("exceeded", "session", 0.05, "usd")
    ]


async def test_what_was_not_used_is_free_again() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=3000))
    first = await ledger.reserve("s", "test/dear", a_request(output=2500), "conversation")
    assert first.settle(Usage(input_tokens=10, output_tokens=20)).cost_usd == pytest.approx(0.0021)
    second = await ledger.reserve("s", "test/dear", a_request(output=2500), "conversation")
    assert second.max_output_tokens == 2500
    second.release()
    assert ledger.tracker("s").get_session_stats().total_tokens == 30


async def test_a_shorter_answer_is_offered_when_only_that_fits() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_usd=0.1))
    granted = await ledger.reserve("s", "test/dear", a_request(output=5000), "conversation")
    assert granted.max_output_tokens is not None
    assert 900 < granted.max_output_tokens < 1000
    worst = Usage(input_tokens=prompt_ceiling(a_request(), "test/dear"), output_tokens=granted.max_output_tokens)
    charge = granted.settle(worst)
    assert charge.cost_usd is not None
    assert 0.0999 < charge.cost_usd <= 0.1


async def test_without_a_cap_nothing_is_changed_or_refused() -> None:
    ledger = BudgetLedger(BOOK)
    granted = await ledger.reserve("s", "test/unheard-of", a_request("x" * 10_000_000, None), "conversation")
    assert granted.max_output_tokens is None
    assert granted.settle(Usage(input_tokens=5_000_000)).cost_usd is None


async def test_an_unknown_price_is_refused_under_a_cap_in_dollars_only() -> None:
    in_dollars = BudgetLedger(BOOK, defaults=Limits(session_usd=1.0))
    message = await refusal(in_dollars.reserve("s", "test/unheard-of", a_request(), "conversation"))
    assert "price of test/unheard-of is not known" in message
    assert '[prices."test/unheard-of"]' in message
    in_tokens = BudgetLedger(BOOK, defaults=Limits(session_tokens=2000))
    granted = await in_tokens.reserve("s", "test/unheard-of", a_request(), "conversation")
    assert granted.settle(Usage(input_tokens=1500, output_tokens=300)).cost_usd is None
    await refusal(in_tokens.reserve("s", "test/unheard-of", a_request(), "conversation"))


async def test_a_free_model_works_even_when_the_money_is_gone() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_usd=0.0))
    granted = await ledger.reserve("s", "demo/tour", a_request(), "conversation")
    assert granted.settle(Usage(input_tokens=100, output_tokens=100)).cost_usd == 0.0
    await refusal(ledger.reserve("s", "test/dear", a_request(), "conversation"))


async def test_a_request_waits_for_others_to_settle_rather_than_fail() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=3000))
    first = await ledger.reserve("s", "test/dear", a_request(output=2000), "conversation")
    waiting = asyncio.create_task(ledger.reserve("s", "test/dear", a_request(output=2000), "conversation"))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.settle(Usage(input_tokens=10, output_tokens=10))
    assert (await waiting).max_output_tokens == 2000


async def test_a_waiting_request_is_refused_when_the_others_really_used_it_up() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=3000))
    first = await ledger.reserve("s", "test/dear", a_request(output=2000), "conversation")
    waiting = asyncio.create_task(ledger.reserve("s", "test/dear", a_request(output=2000), "conversation"))
    await asyncio.sleep(0)
    first.settle(Usage(input_tokens=900, output_tokens=2000))
    assert "2,900 of 3,000 tokens" in await refusal(waiting)


async def test_a_cancelled_wait_holds_nothing() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=3000))
    first = await ledger.reserve("s", "test/dear", a_request(output=2000), "conversation")
    waiting = asyncio.create_task(ledger.reserve("s", "test/dear", a_request(output=2000), "conversation"))
    await asyncio.sleep(0)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    first.release()
    assert (await ledger.reserve("s", "test/dear", a_request(output=2900), "conversation")).max_output_tokens == 2900


async def test_a_raised_budget_lets_a_waiting_request_go() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=3000))
    await ledger.reserve("s", "test/dear", a_request(output=2000), "conversation")
    waiting = asyncio.create_task(ledger.reserve("s", "test/dear", a_request(output=2000), "conversation"))
    await asyncio.sleep(0)
    ledger.enrol("s", limits=Limits(session_tokens=10_000))
    assert (await waiting).max_output_tokens == 2000


async def test_settling_twice_or_releasing_afterwards_counts_once() -> None:
    records: list[TokenUsage] = []
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=100_000), on_record=records.append)
    granted = await ledger.reserve("s", "test/dear", a_request(), "tool_use")
    charge = granted.settle(Usage(input_tokens=10, output_tokens=5))
    assert granted.settle(Usage(input_tokens=10, output_tokens=5)) == charge
    granted.release()
    assert ledger.tracker("s").get_session_stats().total_tokens == 15
    assert [(record.session, record.model, record.activity, record.total) for record in records] == [
        ("s", "test/dear", "tool_use", 15)
    ]


async def test_a_tree_shares_its_cap_at_any_depth_and_a_session_cap_is_its_own() -> None:
    ledger = BudgetLedger(BOOK, day=DayLimits(tokens=10_000))
    ledger.enrol("root", limits=Limits(tree_tokens=2000, session_tokens=100))
    ledger.enrol("child", "root")
    ledger.enrol("grandchild", "child")
    granted = await ledger.reserve("grandchild", "test/dear", a_request(), "subagent")
    granted.settle(Usage(input_tokens=10, output_tokens=1000))
    (await ledger.reserve("child", "test/dear", a_request(output=500), "subagent")).settle(Usage(10, 480))
    assert "this session and its sub-agents" in await refusal(
        ledger.reserve("child", "test/dear", a_request("x" * 400), "subagent")
    )
    wanted = a_request(output=20_000)
    granted = await ledger.reserve("another", "test/dear", wanted, "conversation")
    with_less = BudgetLedger(BOOK, day=DayLimits(tokens=8_500))
    fresh = await with_less.reserve("another", "test/dear", wanted, "conversation")
    assert granted.max_output_tokens == fresh.max_output_tokens


async def test_a_warning_is_given_once_per_budget() -> None:
    notices: list[BudgetNotice] = []
    ledger = BudgetLedger(
        BOOK, defaults=Limits(session_usd=1.0), day=DayLimits(tokens=100_000), warn_at=50, on_notice=notices.append
    )
    for _ in range(8):
        granted = await ledger.reserve("s", "test/dear", a_request(), "conversation")
        granted.settle(Usage(input_tokens=1, output_tokens=1000))
    assert [(notice.kind, notice.scope, notice.unit, notice.limit) for notice in notices] == [
        ("warning", "session", "usd", 1.0)
    ]
    assert 0.5 <= notices[0].spent < 0.61


async def test_the_day_goes_on_after_a_restart_and_ends_at_midnight() -> None:
    now = [datetime(2026, 3, 10, 15, 30).timestamp()]
    asked: list[float] = []

    async def spent_since(since: float) -> Spent:
        asked.append(since)
        return Spent(tokens=9_500, usd=0.0)

    ledger = BudgetLedger(BOOK, day=DayLimits(tokens=10_000), spent_since=spent_since, clock=lambda: now[0])
    small = [ledger.reserve("s", "test/dear", a_request(output=10), "conversation") for _ in range(2)]
    for granted in await asyncio.gather(*small):
        granted.release()
    assert asked == [datetime(2026, 3, 10).timestamp()]
    assert "budget for today" in await refusal(ledger.reserve("s", "test/dear", a_request("x" * 600), "conversation"))
    now[0] += 9 * 3600
    assert (await ledger.reserve("s", "test/dear", a_request("x" * 600), "conversation")).max_output_tokens == 1000
    assert len(asked) == 1


async def test_a_reloaded_session_starts_from_what_it_had_spent() -> None:
    ledger = BudgetLedger(BOOK)
    ledger.enrol("s", limits=Limits(session_usd=1.0, tree_usd=2.0), spent=Spent(1, 0.5), tree_spent=Spent(1, 1.999))
    assert "$1.9990 of $2.00" in await refusal(ledger.reserve("s", "test/dear", a_request(), "conversation"))


async def test_a_grown_system_prompt_is_added_to_what_the_last_answer_counted() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=20_000))
    answer = Message(number=2, role="assistant", parts=[TextPart("yes")], model="test/dear", usage=Usage(1000, 10))
    messages = [Message(number=1, role="user", parts=[TextPart("x" * 4000)]), answer]
    small = ModelRequest(model="dear", system="s", messages=messages[:1], max_output_tokens=1000)
    (await ledger.reserve("s", "test/dear", small, "conversation")).settle(Usage(1000, 10))
    tools = [ToolSchema("t", "d" * 19_000, {})]
    large = ModelRequest(model="dear", system="s", messages=messages, tools=tools, max_output_tokens=1000)
    for _ in range(2):
        await refusal(ledger.reserve("s", "test/dear", large, "conversation"))


async def test_after_a_collection_the_shorter_prompt_counts() -> None:
    ledger = BudgetLedger(BOOK, defaults=Limits(session_tokens=20_000))
    answer = Message(
        number=9, role="assistant", parts=[TextPart("yes")], model="test/dear", usage=Usage(input_tokens=150_000)
    )
    request = ModelRequest(model="dear", system="short", messages=[answer], max_output_tokens=1000)
    assert (await ledger.reserve("s", "test/dear", request, "conversation")).max_output_tokens == 1000


async def test_eight_subagents_at_once_never_pass_half_a_dollar() -> None:
    notices: list[BudgetNotice] = []
    ledger = BudgetLedger(BOOK, on_notice=notices.append)
    ledger.enrol("root", limits=Limits(tree_usd=0.50))
    chance = random.Random(7)
    spent = reported = 0.0
    tokens = 0

    async def agent(name: str) -> int:
        nonlocal spent, reported, tokens
        ledger.enrol(name, "root")
        steps = 0
        while True:
            request = a_request("word " * 2000, 8192, "claude-sonnet-4-5")
            try:
                granted = await ledger.reserve(name, MODEL, request, "subagent")
            except OpenAgentError:
                return steps
            for _ in range(chance.randrange(5)):
                await asyncio.sleep(0)
            output = granted.max_output_tokens or 0
            usage = Usage(chance.randint(2000, 10_000), chance.randint(output // 8, output), cache_write_tokens=2000)
            charge = granted.settle(usage)
            spent += charge.cost_usd or 0.0
            tokens += usage.input_tokens + usage.output_tokens
            assert spent <= 0.50
            steps += 1

    names = [f"agent-{index}" for index in range(8)]
    steps = await asyncio.gather(*(agent(name) for name in names))
    assert sum(steps) >= 4
    assert spent > 0.40
    assert sum(ledger.tracker(name).get_session_stats().total_cost for name in names) == pytest.approx(spent)
    assert sum(ledger.tracker(name).get_session_stats().total_tokens for name in names) == tokens
    assert [notice.kind for notice in notices].count("warning") == 1


Step = tuple[str, int, int, int]
steps_of_a_tree = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "release", "yield"]),
        st.integers(0, 4),
        st.integers(0, 4000),
        st.integers(1, 6000),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(
    steps=steps_of_a_tree,
    parents=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    caps=st.lists(st.one_of(st.none(), st.integers(0, 30_000)), min_size=4, max_size=4),
)
def test_no_interleaving_passes_any_cap(steps: list[Step], parents: list[int], caps: list[int | None]) -> None:
    asyncio.run(_play(steps, parents, caps))


async def _play(steps: list[Step], parents: list[int], caps: list[int | None]) -> None:
    session_cap, tree_cap, day_cap, cents = caps
    usd = None if cents is None else cents / 10_000
    ledger = BudgetLedger(BOOK, day=DayLimits(tokens=day_cap, usd=usd))
    above = {0: None, **{index + 1: min(parent, index) for index, parent in enumerate(parents)}}
    for session, parent in above.items():
        limits = Limits(session_tokens=session_cap, tree_tokens=tree_cap if session == 0 else None, tree_usd=usd)
        ledger.enrol(str(session), None if parent is None else str(parent), limits)
    used = dict.fromkeys(above, 0)
    dollars = 0.0
    open_now: list[tuple[int, Reservation, int]] = []

    async def reserve(session: int, size: int, output: int) -> None:
        with suppress(OpenAgentError):
            request = a_request("x" * size, output)
            granted = await ledger.reserve(str(session), "test/dear", request, "subagent")
            open_now.append((session, granted, prompt_ceiling(request, "test/dear")))

    def check() -> None:
        total = sum(used.values())
        assert session_cap is None or max(used.values()) <= session_cap
        assert tree_cap is None or total <= tree_cap
        assert day_cap is None or total <= day_cap
        assert usd is None or dollars <= usd + 1e-9

    def settle(share: int) -> None:
        nonlocal dollars
        session, granted, prompt = open_now.pop(0)
        usage = Usage(prompt * (share % 5) // 4, (granted.max_output_tokens or 6000) * (share % 3) // 2)
        charge = granted.settle(usage)
        used[session] += usage.input_tokens + usage.output_tokens
        dollars += charge.cost_usd or 0.0
        assert ledger.tracker(str(session)).get_session_stats().total_tokens == used[session]
        check()

    tasks: list[asyncio.Task[None]] = []
    for action, session, size, output in steps:
        if action == "reserve":
            tasks.append(asyncio.create_task(reserve(session, size, output)))
        elif action == "settle" and open_now:
            settle(size)
        elif action == "release" and open_now:
            open_now.pop(0)[1].release()
        else:
            await asyncio.sleep(0)
    while not all(task.done() for task in tasks):
        while open_now:
            settle(4)
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
