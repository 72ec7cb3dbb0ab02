"""Money and tokens, through the whole daemon."""

import asyncio
import json
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.protocol import events as e
from openagent.protocol.configuration import ConfigSet
from openagent.protocol.sessions import DayBudget, SessionCreate, SessionGet, SessionUpdate, SettingsChange
from openagent.protocol.telling import said_of
from openagent.protocol.usage import UsageAsk

from ..models.place import only, place, provider, session, turn

pytestmark = pytest.mark.anyio

MODEL = "anthropic/claude-opus-4-1"
READ, WRITTEN = 1500, 256
CAP = 0.50
ANSWER = {"text": "Well.", "usage": {"input": READ, "output": WRITTEN}, "latency_ms": 5}


async def test_a_cap_that_is_written_while_the_daemon_runs_holds_from_the_next_request_on(tmp_path: Path) -> None:
    async with Simulator({"steps": [ANSWER], "loop": True}) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"')
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            talk = await session(house, client, MODEL)
            own = await session(house, client, MODEL, budget_usd=CAP)
            for name, key in ((talk, "budget.session_usd"), (own, "budget.day_usd")):
                assert (await turn(client, name))[0].reason == "done"
                await client.request(ConfigSet(id=client.next_id(), key=key, value="0.001"))
                assert (await turn(client, name))[0].reason == "budget"
                await client.request(ConfigSet(id=client.next_id(), key=key))
                assert (await turn(client, name))[0].reason == "done"


async def test_eight_sub_agents_spending_at_once_never_pass_the_cap_of_their_tree(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    async with Simulator({"steps": [ANSWER], "loop": True}) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"')
        async with place(tmp_path, sim, config, LEDGER_PATH=str(ledger)) as house, await house.client() as client:
            root = await session(house, client, MODEL, budget_usd=CAP)
            change = SettingsChange(model=MODEL, mode="full", max_output_tokens=WRITTEN)
            children = [
                await client.request(
                    SessionCreate(id=client.next_id(), cwd=str(house.workspace), parent=root, settings=change),
                )
                for _ in range(8)
            ]
            assert {child.parent for child in children} == {root}
            seen: list[e.Event] = []

            async def spend(child: str) -> list[str]:
                ends: list[str] = []
                while ends[-1:] != ["budget"] and len(ends) < 12:
                    completed, events = await turn(client, child)
                    ends.append(completed.reason)
                    seen.extend(events)
                return ends

            ends = await asyncio.gather(*(spend(child.id) for child in children))
            assert all(each[-1] == "budget" for each in ends), "each of them was stopped by the tree's cap"
            answered = sum(each.count("done") for each in ends)
            assert answered >= 3, "and until then they could work"

            report = await client.request(UsageAsk(id=client.next_id(), by="session"))
            assert report.total.cost_usd <= CAP
            assert report.total.requests == answered == len(sim.requests)
            assert report.total.usage.input_tokens == answered * READ
            assert report.total.usage.output_tokens == answered * WRITTEN
            assert report.total.cost_usd == pytest.approx(answered * (READ * 15 + WRITTEN * 75) / 1e6)
            warnings, refusals = only(seen, e.BudgetWarning), only(seen, e.BudgetExceeded)
            assert {warning.scope for warning in warnings} == {"tree"}
            assert {refusal.scope for refusal in refusals} == {"tree"}
            assert all(refusal.limit == CAP for refusal in refusals)
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert len(lines) == answered
    assert sum(line["cost_usd"] for line in lines) == pytest.approx(report.total.cost_usd)
    assert {line["model"] for line in lines} == {MODEL}


async def test_a_refused_request_costs_nothing_and_raising_the_budget_helps(tmp_path: Path) -> None:
    async with Simulator({"steps": [ANSWER], "loop": True}) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"')
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            poor = await session(house, client, MODEL, budget_usd=0.001, max_output_tokens=WRITTEN)
            completed, _ = await turn(client, poor)
            assert completed.reason == "budget"
            assert completed.error is not None
            assert "$0.00" in completed.error.message
            assert not sim.requests
            richer = SettingsChange(budget_usd=5.0)
            await client.request(SessionUpdate(id=client.next_id(), session=poor, settings=richer))
            completed, _ = await turn(client, poor)
            assert completed.reason == "done"


@pytest.mark.parametrize("by", ["model", "session", "day", "activity"])
async def test_usage_is_summed_up_by_anything_asked_for(tmp_path: Path, by: str) -> None:
    script = {
        "conversations": [
            {
                "match": "use a tool",
                "steps": [
                    {
                        "tool_calls": [{"name": "shell", "arguments": {"command": "true"}}],
                        "usage": {"input": 2000, "output": 10, "cached": 1000},
                    },
                    {"text": "Done.", "usage": {"input": 2000, "output": 10, "cached": 1000}},
                ],
            },
            {"steps": [{"text": "Hi.", "usage": {"input": 100, "output": 1}}]},
        ]
    }
    async with Simulator(script) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"') + provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            paid = await session(house, client, "anthropic/claude-sonnet-4-5")
            await turn(client, paid, "use a tool")
            free = await session(house, client, "mine/llama")
            await turn(client, free, "hello")
            report = await client.request(UsageAsk(id=client.next_id(), by=by))  # pyright: ignore[reportArgumentType]
            assert (report.total.requests, report.total.unpriced) == (3, 1)
            assert report.total.usage.input_tokens == 4100
            rows = {row.key: row for row in report.rows}
            assert sum(row.requests for row in rows.values()) == 3
            if by == "model":
                assert rows["anthropic/claude-sonnet-4-5"].cached_percent == 50.0
                assert rows["mine/llama"].cost_usd == 0.0
            elif by == "activity":
                assert (rows["conversation"].requests, rows["tool_use"].requests) == (2, 1)
            elif by == "session":
                assert set(rows) == {paid, free}
            none = await client.request(UsageAsk(id=client.next_id(), until=1.0))
            assert none.rows == []


async def test_configured_caps_are_seen_before_the_first_turn_and_near_ones_are_told_before_a_request(
    tmp_path: Path,
) -> None:
    async with Simulator({"steps": [ANSWER], "loop": True}) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"')
        caps = "[budget]\nsession_usd = 5.0\nday_usd = 2.0\nwarn_at = 2\n"
        async with place(tmp_path, sim, config + caps) as house, await house.client() as client:
            info = await client.create_session(
                str(house.workspace), model=MODEL, mode="full", max_output_tokens=WRITTEN
            )
            assert (info.cap_usd, info.today) == (5.0, DayBudget(cap_usd=2.0))
            _, events = await turn(client, info.id)
            (warning,) = only(events, e.BudgetWarning)
            assert (warning.scope, warning.limit) == ("day", 2.0)
            assert said_of("budget.warning", warning)[0].text == "$0.04 of today's $2.00 are spent."
        async with place(tmp_path, sim, config + caps) as house, await house.client() as client:
            # A daemon that was started anew knows what the day has cost, and another session is told before it asks.
            another = await session(house, client, MODEL, max_output_tokens=WRITTEN)
            today = DayBudget()
            while not today.spent_usd:
                told = await client.request(SessionGet(id=client.next_id(), session=another))
                assert told.today is not None
                today = told.today
            assert today.spent_usd == pytest.approx(0.0417)
            _, events = await turn(client, another)
            (warning,) = only(events, e.BudgetWarning)
            assert warning.spent == pytest.approx(0.0417), "before it spent anything itself"
            _, events = await turn(client, another)
            assert not only(events, e.BudgetWarning), "told once"
