"""Retries, detours, routing and caches, as a session lives through them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ToolCallPart, ToolResultPart

from ..interaction.house import until
from ..providers.harness import canned
from .place import FAST_RETRIES, NO_RETRIES, only, place, provider, session, turn

pytestmark = pytest.mark.anyio


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}], **more}


async def test_a_retry_is_announced_and_the_answer_comes_all_the_same(tmp_path: Path) -> None:
    async with Simulator([{"text": "At last."}]) as sim:
        sim.fail_next("503", times=2)
        config = provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config, **FAST_RETRIES) as house, await house.client() as client:
            completed, seen = await turn(client, await session(house, client, "mine/m"))
    assert (completed.reason, completed.text) == ("done", "At last.")
    retries = only(seen, e.RetryScheduled)
    assert [(retry.provider, retry.attempt, retry.max_attempts) for retry in retries] == [
        ("mine", 2, 3),
        ("mine", 3, 3),
    ]
    assert all(retry.error.message and retry.delay_s < 1 for retry in retries)


async def test_ten_sessions_that_meet_the_same_blip_get_ten_answers(tmp_path: Path) -> None:
    step = {"text": "At last.", "fault": {"name": "503", "times": 1}}
    async with Simulator([step]) as sim:
        config = provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config, **FAST_RETRIES) as house, await house.client() as client:
            sessions = [await session(house, client, "mine/m") for _ in range(10)]
            asked = (turn(client, each, f"number {number}") for number, each in enumerate(sessions))
            ended = await asyncio.gather(*asked)
    assert [completed.text for completed, _ in ended] == ["At last."] * 10
    assert all(len(only(seen, e.RetryScheduled)) == 1 for _, seen in ended)


EMPTY = (
    'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 0}}\n\ndata: [DONE]\n\n'
)
IMPOSSIBLE = (
    'data: {"choices": [{"delta": {"content": "Well\\ud800."}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": [], "usage": {"prompt_tokens": 100000000000000000000, "completion_tokens": -500}}\n\n'
)


async def test_an_answer_with_nothing_in_it_is_told_and_paid_for(tmp_path: Path) -> None:
    async with Simulator([]) as sim, canned(EMPTY, content_type="text/event-stream") as url:
        config = f'[providers.mine]\nkind = "compatible"\nbase_url = "{url}"\n'
        async with place(tmp_path, sim, config, **FAST_RETRIES) as house, await house.client() as client:
            completed, seen = await turn(client, await session(house, client, "mine/m"))
    assert completed.reason == "error"
    assert completed.error is not None
    assert "nothing in it" in completed.error.message
    assert len(only(seen, e.RetryScheduled)) == 1
    assert completed.usage.input_tokens == 80
    assert not [event for event in only(seen, e.MessageAdded) if event.message.role == "assistant"]


async def test_an_answer_with_impossible_figures_is_an_answer(tmp_path: Path) -> None:
    async with Simulator([]) as sim, canned(IMPOSSIBLE, content_type="text/event-stream") as url:
        config = f'[providers.mine]\nkind = "compatible"\nbase_url = "{url}"\n'
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            completed, _ = await turn(client, await session(house, client, "mine/m"))
    assert (completed.reason, completed.text) == ("done", "Well\ufffd.")
    assert completed.usage.estimated
    assert 0 < completed.usage.input_tokens < 10_000
    assert 0 < completed.usage.output_tokens < 10


async def test_a_session_goes_on_with_the_next_model_and_nothing_said_is_lost(tmp_path: Path) -> None:
    steps = [
        {"thinking": "I should look.", "text": "Looking.", **shell("echo seen")},
        {"text": "It says {last_result}.", "fault": "500"},
        {"text": "And again.", "fault": "500"},
    ]
    spare_steps = [{"text": "unused"}, {"text": "It says {last_result}."}, {"text": "And again."}]
    async with Simulator(steps) as first, Simulator(spare_steps) as spare:
        config = (
            '[fallback]\nchain = ["spare/gpt-5"]\n'
            + provider("first", "anthropic", first, 'api_key = "k"')
            + provider("spare", "openai", spare, 'api_key = "k"', 'api = "responses"')
        )
        async with place(tmp_path, first, config, **NO_RETRIES) as house, await house.client() as client:
            one = await session(house, client, "first/claude-sonnet-4-5", thinking="low")
            completed, seen = await turn(client, one)
            assert completed.reason == "done"
            assert completed.text.startswith("It says ")
            assert completed.text.endswith("seen.")
            (moved,) = only(seen, e.ProviderFailedOver)
            assert (moved.from_model, moved.to_model) == ("first/claude-sonnet-4-5", "spare/gpt-5")
            answers = [event.message for event in only(seen, e.MessageAdded) if event.message.role == "assistant"]
            assert [answer.model for answer in answers] == ["first/claude-sonnet-4-5", "spare/gpt-5"]
            sent = spare.requests[-1].body
            assert "seen" in sent
            assert "Looking." in sent
            assert '"function_call_output"' in sent
            messages = [event.message for event in only(seen, e.MessageAdded)]
            parts = [part for message in messages for part in message.parts]
            assert any(isinstance(part, ToolCallPart) for part in parts)
            assert any(isinstance(part, ToolResultPart) and "seen" in part.text for part in parts)

            asked = len(first.requests)
            completed, seen = await turn(client, one, "once more")
            assert completed.reason == "done"
            assert len(first.requests) == asked, "the session stays where it was helped"
            assert only(seen, e.ProviderFailedOver), "and whoever pays is told so"


async def test_a_session_waits_for_its_quota_and_resumes_by_itself(tmp_path: Path) -> None:
    async with Simulator([{"text": "Back."}]) as sim:
        sim.fail_next("quota", retry_after=1)
        config = '[fallback]\non_quota = "wait"\n' + provider("anthropic", "anthropic", sim, 'api_key = "k"')
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            completed, seen = await turn(client, await session(house, client, "anthropic/claude-sonnet-4-5"))
    assert (completed.reason, completed.text) == ("done", "Back.")
    (waited,) = only(seen, e.RetryScheduled)
    assert waited.error.code == "quota_exhausted"
    assert waited.delay_s >= 0.9


async def test_auto_asks_the_strong_model_first_and_the_cheap_one_for_what_follows_a_command(tmp_path: Path) -> None:
    async with Simulator([shell("true"), {"text": "Done."}]) as sim:
        config = (
            'model = "auto"\n[auto]\nstrong = "mine/big"\ncheap = "mine/small"\n'
            '[prices."mine/*"]\ninput = 1\noutput = 1\n' + provider("mine", "compatible", sim)
        )
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            one = (await client.create_session(str(house.workspace), mode="full", budget_usd=1.0)).id
            completed, seen = await turn(client, one)
    assert completed.reason == "done"
    routed = only(seen, e.ModelRouted)
    assert [event.model for event in routed] == ["mine/big", "mine/small"]
    assert [event.reason for event in routed] == [
        "strong: a new task is being understood",
        "cheap: reading and running",
    ]
    assert [request.json()["model"] for request in sim.requests] == ["big", "small"]


async def test_rules_of_the_user_decide_what_auto_asks(tmp_path: Path) -> None:
    async with Simulator([{"text": "Hi."}]) as sim:
        config = (
            '[auto]\nstrong = "mine/big"\ncheap = "mine/small"\n'
            '[[auto.rules]]\nuse = "cheap"\nprompt_shorter_than = 10\nreason = "small talk"\n'
            + provider("mine", "compatible", sim)
        )
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            _, seen = await turn(client, await session(house, client, "auto"), "hello")
    assert [(event.model, event.reason) for event in only(seen, e.ModelRouted)] == [("mine/small", "cheap: small talk")]


async def test_each_step_says_why_its_prompt_was_not_read_from_the_cache(tmp_path: Path) -> None:
    usage = {"input": 5000, "output": 5}
    hit = {"input": 5100, "output": 5, "cached": 5000}
    script = [
        shell("true", usage=usage),
        shell("true", usage={**usage, "input": 5050}),
        {"text": "Done.", "usage": hit},
    ]
    async with Simulator(script) as sim:
        config = provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            _, seen = await turn(client, await session(house, client, "mine/m"))
    said = [event.cache_miss for event in only(seen, e.UsageUpdated)]
    assert "first request" in said[0]
    assert "did not read its cache" in said[1]
    assert said[2] == ""


async def test_identical_requests_at_temperature_0_are_answered_from_the_cache_when_asked_to(tmp_path: Path) -> None:
    async with Simulator({"steps": [{"text": "Same.", "usage": {"input": 9, "output": 9}}], "loop": True}) as sim:
        config = "[cache]\nresponses = true\n" + provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            for _ in range(2):
                completed, _ = await turn(client, await session(house, client, "mine/m", temperature=0.0))
                assert completed.text == "Same."
            assert len(sim.requests) == 1
            await turn(client, await session(house, client, "mine/m", temperature=0.5))
            assert len(sim.requests) == 2


async def test_a_wire_profile_of_the_user_sends_its_headers_in_its_order(tmp_path: Path) -> None:
    async with Simulator([{"text": "Hi."}]) as sim:
        config = '[wire_profiles.gate]\nheaders = ["X-Team: blue", "@auth", "User-Agent: Ours/{version}"]\n' + provider(
            "mine", "compatible", sim, 'api_key = "k"', 'wire_profile = "gate"'
        )
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            await turn(client, await session(house, client, "mine/m"))
    names = [name for name, _ in sim.requests[0].headers]
    assert names[:4] == ["Host", "X-Team", "Authorization", "User-Agent"]
    assert dict(sim.requests[0].headers)["Authorization"] == "Bearer k"


async def test_a_key_that_is_needed_and_not_there_is_asked_for_by_name(tmp_path: Path) -> None:
    async with Simulator([{"text": "Hi."}]) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        with pytest.raises(OpenAgentError) as refused:
            await session(house, client, "anthropic/claude-sonnet-4-5")
    assert refused.value.info.code == "auth_failed"
    assert "There is no API key for anthropic" in refused.value.info.message
    assert "openagent auth add anthropic`, or set ANTHROPIC_API_KEY" in refused.value.info.hint


async def test_where_one_address_dies_in_mid_answer_the_next_one_goes_on_and_stays(tmp_path: Path) -> None:
    dying = {"chunks": ["From ", "the first"], "fault": {"name": "disconnect", "after": 1}}
    async with Simulator([dying]) as first, Simulator({"steps": [{"text": "From the second."}], "loop": True}) as other:
        config = provider("mine", "compatible", first, f'base_urls = ["{other.base_url}/v1"]')
        async with place(tmp_path, first, config, **NO_RETRIES) as house, await house.client() as client:
            here = await session(house, client, "mine/m")
            completed, seen = await turn(client, here)
            assert (completed.reason, completed.text) == ("done", "From the second.")
            (retry,) = only(seen, e.RetryScheduled)
            assert f"{other.base_url}/v1 is asked instead" in retry.error.message
            completed, seen = await turn(client, here, "again")
            assert (completed.text, only(seen, e.RetryScheduled)) == ("From the second.", [])
            assert len(first.requests) == 1, "it is set aside"


async def test_a_provider_is_asked_no_more_often_than_it_may_be_and_who_waits_is_told(tmp_path: Path) -> None:
    async with Simulator({"steps": [{"text": "Hello."}], "loop": True}) as sim:
        config = provider("mine", "compatible", sim, "requests_per_minute = 1")
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            here = await client.attach(await session(house, client, "mine/m"))
            for prompt in ("one", "two"):
                await client.send(here.session, prompt)
            waiting = (await until(here, lambda event: isinstance(event, e.RetryScheduled)))[-1]
            assert isinstance(waiting, e.RetryScheduled)
            assert "asked no faster than it may be" in waiting.error.message
            await client.cancel(here.session)
            assert len(sim.requests) == 1
