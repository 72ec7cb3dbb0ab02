"""Every format, everything an answer may hold: our adapters and the official SDKs hear the same."""

from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.plugins.provider import Answer, CallChunk
from openagent.protocol.messages import ImagePart, Message, ToolCallPart
from openagent.protocol.usage import Usage

from .harness import (
    FORMATS,
    PIXEL,
    answer_to,
    ask,
    calls_of,
    connect,
    items_of,
    result,
    said,
    text_of,
    thinking_of,
    user,
)
from .official import hear

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("wire", FORMATS)]

TOOLS_STEP: dict[str, Any] = {
    "text": "Looking around.",
    "thinking": "First a look at the files, then at the notes. This takes more than one chunk.",
    "tool_calls": [
        {"name": "shell", "arguments": {"command": "ls -la; echo 'ünïcödé'"}},
        {"name": "read_file", "arguments": {"path": "notes.txt"}},
    ],
    "usage": {"input": 1200, "cached": 1000, "output": 90, "reasoning": 40},
}


async def test_we_hear_what_the_official_sdk_hears(wire: str):
    async with Simulator([TOOLS_STEP]) as sim, connect(wire, sim) as provider:
        answer = await answer_to(provider, ask(wire))
        heard = await hear(wire, sim.base_url)
    assert text_of(answer.parts) == heard.text == TOOLS_STEP["text"]
    assert thinking_of(answer.parts) == heard.thinking == TOOLS_STEP["thinking"]
    assert [(call.name, call.arguments) for call in calls_of(answer.parts)] == heard.calls
    assert len(heard.calls) == 2
    assert answer.stop_reason == "tool_calls"
    assert answer.usage == Usage(input_tokens=1200, output_tokens=90, cached_tokens=1000, reasoning_tokens=40)
    assert heard.tokens == (1200, 90)


@pytest.mark.parametrize("split", [1, 3, 7])
async def test_text_survives_any_cut_of_the_bytes(wire: str, split: int):
    text = "Ünï — 日本語 \r\n data: {} \n\n" * 4
    async with (
        Simulator([{"text": text, "split_bytes": split, "chunk_chars": 5}]) as sim,
        connect(wire, sim) as provider,
    ):
        answer = await answer_to(provider, ask(wire))
    assert text_of(answer.parts) == text
    assert answer.stop_reason == "end"


async def test_thinking_goes_back_and_forth_with_parallel_calls(wire: str):
    """The simulator refuses a history with a signature, an id or a result out of place."""
    script = [TOOLS_STEP, {**TOOLS_STEP, "text": "Again."}, {"text": "I saw: {last_result}"}]
    async with Simulator(script) as sim, connect(wire, sim) as provider:
        history = [user("hi")]
        for _ in range(2):
            answer = await answer_to(provider, ask(wire, *history))
            history.append(said(len(history) + 1, answer))
            first, second = calls_of(answer.parts)
            # Results are kept as they come in, which is not the order of the calls.
            history.append(result(len(history) + 1, second, "buy milk"))
            history.append(result(len(history) + 1, first, "two files", is_error=True))
        answer = await answer_to(provider, ask(wire, *history))
    assert text_of(answer.parts) == "I saw: buy milk"
    assert [record.step for record in sim.requests] == [0, 1, 2]


async def test_calls_are_announced_before_they_are_complete(wire: str):
    async with Simulator([TOOLS_STEP]) as sim, connect(wire, sim) as provider:
        *chunks, answer = await items_of(provider, ask(wire))
    assert isinstance(answer, Answer)
    announced = [(chunk.id, chunk.name) for chunk in chunks if isinstance(chunk, CallChunk)]
    assert announced == [(call.id, call.name) for call in calls_of(answer.parts)]


async def test_images_reach_the_model_from_users_and_from_tools(wire: str):
    step = {"tool_calls": [{"name": "read_file", "arguments": {"path": "a.png"}}]}
    async with Simulator([step, {"text": "Seen."}]) as sim, connect(wire, sim) as provider:
        image = ImagePart("image/png", PIXEL)
        question = user("What is this?", image)
        answer = await answer_to(provider, ask(wire, question))
        (call,) = calls_of(answer.parts)
        shown = result(3, call, "An image.", images=[image])
        answer = await answer_to(provider, ask(wire, question, said(2, answer), shown))
        assert text_of(answer.parts) == "Seen."
        assert sim.requests[0].body.count(PIXEL) == 1
        assert sim.requests[1].body.count(PIXEL) == 2


async def test_redacted_thinking_is_carried_back(wire: str):
    if wire in ("chat", "gemini"):
        pytest.skip("the format has no such thing")
    step = {"redacted_thinking": "opaque", "tool_calls": [{"name": "shell", "arguments": {"command": "ls"}}]}
    async with Simulator([step, {"text": "Done."}]) as sim, connect(wire, sim) as provider:
        answer = await answer_to(provider, ask(wire))
        (call,) = calls_of(answer.parts)
        await answer_to(provider, ask(wire, user("hi"), said(2, answer), result(3, call, "out")))
        sent = sim.requests[1].body
    assert '"redacted_thinking","data":"opaque"' in sent or '"encrypted_content"' in sent


async def test_arguments_that_are_no_json_are_kept_and_can_be_sent_back(wire: str):
    if wire == "gemini":
        pytest.skip("arguments are an object on the wire")
    step = {"tool_calls": [{"name": "shell", "arguments": '{"command": '}]}
    async with Simulator([step, {"text": "Sorry."}]) as sim, connect(wire, sim) as provider:
        answer = await answer_to(provider, ask(wire, thinking=None))
        (call,) = calls_of(answer.parts)
        assert call.invalid_arguments == '{"command": '
        request = ask(wire, user("hi"), said(2, answer), result(3, call, "not JSON", is_error=True), thinking=None)
        assert text_of((await answer_to(provider, request)).parts) == "Sorry."


@pytest.mark.parametrize(
    ("stop", "reason"), [("end", "end"), ("max_tokens", "max_tokens"), ("content_filter", "refusal")]
)
async def test_the_reason_for_stopping_is_understood(wire: str, stop: str, reason: str):
    async with Simulator([{"text": "…", "stop": stop}]) as sim, connect(wire, sim) as provider:
        assert (await answer_to(provider, ask(wire))).stop_reason == reason


async def test_the_bytes_of_request_and_answer_are_kept(wire: str):
    async with Simulator([{"text": "Hello."}]) as sim, connect(wire, sim) as provider:
        answer = await answer_to(provider, ask(wire))
        assert answer.raw_request.decode() == sim.requests[0].body
    assert b"Hello." in answer.raw_response


async def test_models_are_listed(wire: str):
    async with Simulator({"steps": [{"text": "x"}], "models": ["one", "two"]}) as sim, connect(wire, sim) as provider:
        assert [model.name for model in await provider.models()] == ["one", "two"]


@pytest.mark.parametrize("call_id", ["call_0", "call 0/ü", "x" * 100])
async def test_ids_that_come_twice_or_look_odd_are_accepted_everywhere(wire: str, call_id: str):
    """Histories of servers that count their calls from zero in every answer."""
    calls = [ToolCallPart(call_id, "shell", {"command": "ls"}, origin="openai-chat") for _ in range(2)]
    history = [user("hi")]
    for call in calls:
        history.append(Message(len(history) + 1, "assistant", [call]))
        history.append(result(len(history) + 1, call, "files"))
    async with Simulator({"steps": [{"text": "Fine."}], "loop": True}) as sim, connect(wire, sim) as provider:
        answer = await answer_to(provider, ask(wire, *history))
    assert text_of(answer.parts) == "Fine."
