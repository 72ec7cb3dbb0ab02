"""What goes over the wire, byte for byte: event sequences, chunks, pacing, and streams that break."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from devtools.simulator import Simulator

from .asking import USER, Json, client, post

pytestmark = pytest.mark.anyio

VERSION = {"anthropic-version": "2023-06-01"}

ASKS: dict[str, tuple[str, Json]] = {
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [USER], "stream": True}),
    "chat": ("/v1/chat/completions", {"model": "m", "messages": [USER], "stream": True}),
    "responses": ("/v1/responses", {"model": "m", "input": "hi", "stream": True}),
    "gemini": ("/v1beta/models/m:streamGenerateContent?alt=sse", {"contents": [{"parts": [{"text": "hi"}]}]}),
}

every_format = pytest.mark.parametrize("wire", list(ASKS))


async def stream(sim: Simulator, wire: str, **changes: Any) -> httpx2.Response:
    path, body = ASKS[wire]
    return await post(sim, path, {**body, **changes}, VERSION)


def data_of(response: httpx2.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


TOOL_STEP: Json = {
    "thinking": "hm",
    "text": "look",
    "tool_calls": [{"name": "shell", "arguments": {"command": "ls"}}],
}


async def test_anthropic_event_sequence():
    thinking = {"type": "enabled", "budget_tokens": 1024}
    async with Simulator([{**TOOL_STEP, "redacted_thinking": "c2VjcmV0"}]) as sim:
        answer = await stream(sim, "anthropic", thinking=thinking, max_tokens=2000)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = data_of(answer)
    names = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    assert names == [event["type"] for event in events]
    shown = [
        f"{event['type']}:{event.get('content_block', event.get('delta', {})).get('type', '')}" for event in events
    ]
    assert shown == [
        "message_start:",
        "content_block_start:thinking",
        "ping:",
        "content_block_delta:thinking_delta",
        "content_block_delta:signature_delta",
        "content_block_stop:",
        "content_block_start:redacted_thinking",
        "content_block_stop:",
        "content_block_start:text",
        "content_block_delta:text_delta",
        "content_block_stop:",
        "content_block_start:tool_use",
        "content_block_delta:input_json_delta",
        "content_block_delta:input_json_delta",
        "content_block_stop:",
        "message_delta:",
        "message_stop:",
    ]
    assert events[1]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert events[6]["content_block"] == {"type": "redacted_thinking", "data": "c2VjcmV0"}
    assert events[11]["content_block"]["input"] == {}
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


async def test_chat_event_sequence():
    async with Simulator([TOOL_STEP]) as sim:
        answer = await stream(sim, "chat", stream_options={"include_usage": True})
        unasked = await stream(sim, "chat")
    assert answer.text.endswith("data: [DONE]\n\n")
    chunks = data_of(answer)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert [sorted(delta) for delta in deltas] == [
        ["content", "refusal", "role"],
        ["reasoning_content"],
        ["content"],
        ["tool_calls"],
        ["tool_calls"],
        [],
    ]
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] > 0
    assert all("usage" not in chunk for chunk in data_of(unasked))


async def test_responses_event_sequence():
    async with Simulator([{**TOOL_STEP, "tool_calls": []}]) as sim:
        events = data_of(await stream(sim, "responses", reasoning={"summary": "auto"}))
        unasked = data_of(await stream(sim, "responses"))
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(15))
    reasoning = unasked[-1]["response"]["output"][0]
    assert reasoning["summary"] == []
    assert "encrypted_content" not in reasoning


async def test_gemini_streams_sse_or_a_json_array():
    async with Simulator({"steps": [{"text": "hello world", "chunk_chars": 4}], "loop": True}) as sim:
        events = await stream(sim, "gemini")
        whole = await post(sim, "/v1beta/models/m:streamGenerateContent", ASKS["gemini"][1])
        sim.fail_next("503")
        refused = await post(sim, "/v1beta/models/m:streamGenerateContent", ASKS["gemini"][1])
    assert events.headers["content-type"] == "text/event-stream"
    assert events.content.endswith(b"\r\n\r\n")
    texts = [answer["candidates"][0]["content"]["parts"][0]["text"] for answer in data_of(events)]
    assert texts == ["hell", "o wo", "rld", ""]
    assert whole.headers["content-type"].startswith("application/json")
    assert [answer["candidates"][0]["content"] for answer in whole.json()] == [
        answer["candidates"][0]["content"] for answer in data_of(events)
    ]
    assert refused.json()[0]["error"]["status"] == "UNAVAILABLE"


@pytest.mark.parametrize("wire", ["anthropic", "responses", "gemini"])
async def test_thinking_is_sent_only_to_those_who_ask(wire: str):
    step = {"text": "hi", "thinking": "SECRET"}
    async with Simulator([step]) as sim:
        assert "SECRET" not in (await stream(sim, wire)).text
    async with Simulator({"steps": [step], "show_thinking": "always"}) as sim:
        assert "SECRET" in (await stream(sim, wire)).text


async def test_omitted_thinking_leaves_its_signature():
    thinking = {"type": "adaptive", "display": "omitted"}
    async with Simulator([{"text": "a", "thinking": "SECRET"}, {"text": "b"}]) as sim:
        whole = await stream(sim, "anthropic", thinking=thinking, stream=False)
        block = whole.json()["content"][0]
        assert (block["type"], block["thinking"]) == ("thinking", "")
        history = [USER, {"role": "assistant", "content": whole.json()["content"]}, USER]
        assert "b" in (await stream(sim, "anthropic", messages=history)).text


@every_format
async def test_a_stream_may_be_cut_anywhere(wire: str):
    step = {"text": "日本語 ünïcödé", "chunk_chars": 2}
    async with Simulator([step]) as sim:
        normal = await stream(sim, wire)
    async with Simulator([{**step, "split_bytes": 7}]) as sim:
        path, body = ASKS[wire]
        async with client(sim) as http, http.stream("POST", path, json=body, headers=VERSION) as answer:
            pieces = [piece async for piece in answer.aiter_raw()]
    assert max(map(len, pieces)) == 7
    assert len(b"".join(pieces)) == len(normal.content)


async def test_chunks_as_the_script_says():
    async with Simulator([{"chunks": ["Hel", "", "lo"]}, {"text": "Hello", "chunk_chars": 0}]) as sim:
        explicit = data_of(await stream(sim, "chat"))
        history = [USER, {"role": "assistant", "content": "Hello"}, USER]
        single = data_of(await stream(sim, "chat", messages=history))
    assert [chunk["choices"][0]["delta"].get("content") for chunk in explicit][1:-1] == ["Hel", "", "lo"]
    assert [chunk["choices"][0]["delta"].get("content") for chunk in single][1:-1] == ["Hello"]


@every_format
async def test_latency_and_pace(wire: str):
    step = {"text": "abcdef", "chunk_chars": 1, "latency_ms": 40, "chunk_ms": 8}
    async with Simulator([step]) as sim:
        answer = await stream(sim, wire)
        record = sim.requests[-1]
    assert answer.status_code == 200
    assert record.finished_at is not None
    assert record.finished_at - record.arrived_at >= 0.080


async def test_whole_answers_wait_too():
    async with Simulator([{"text": "hi", "latency_ms": 30}]) as sim:
        await stream(sim, "chat", stream=False)
        record = sim.requests[-1]
    assert record.finished_at is not None
    assert record.finished_at - record.arrived_at >= 0.030


@every_format
async def test_a_disconnect_comes_after_the_chunks_it_was_asked_for(wire: str):
    step = {"text": "abcdef", "chunk_chars": 1, "fault": {"name": "disconnect", "after": 3}}
    path, body = ASKS[wire]
    received = bytearray()

    async def listen(sim: Simulator) -> None:
        async with client(sim) as http, http.stream("POST", path, json=body, headers=VERSION) as answer:
            async for piece in answer.aiter_raw():
                received.extend(piece)

    async with Simulator([step]) as sim:
        with pytest.raises(httpx2.RemoteProtocolError):
            await listen(sim)
    assert letters(received) == "abc"


def letters(received: bytes | bytearray) -> str:
    """What was said in the complete events of a stream that may lack its end."""
    lines = [line for line in received.decode().splitlines() if line.startswith("data: {") and line.endswith("}")]
    return "".join(said_in(json.loads(line.removeprefix("data: "))) for line in lines)


def said_in(event: Any) -> str:
    if "candidates" in event:
        return event["candidates"][0]["content"]["parts"][0]["text"]
    if "choices" in event:
        return event["choices"][0]["delta"].get("content") or ""
    delta = event.get("delta", "")
    return delta if isinstance(delta, str) else delta.get("text", "")


@every_format
async def test_a_stalled_stream_goes_on_when_released(wire: str):
    step = {"text": "abcdef", "chunk_chars": 1, "fault": {"name": "stall", "after": 2, "times": 1}}
    async with Simulator([step]) as sim:
        asking = asyncio.create_task(stream(sim, wire))
        await sim.until(lambda: sim.requests)
        assert sim.requests[0].finished_at is None
        sim.release()
        assert letters((await asking).content) == "abcdef"
        await stream(sim, wire)
        assert [record.fault for record in sim.requests] == ["stall", None]


@every_format
async def test_truncated_and_unfinished_streams_end_properly_for_http(wire: str):
    async with Simulator([{"text": "abcdef", "chunk_chars": 1}]) as sim:
        whole = (await stream(sim, wire)).content
        sim.fail_next("truncated", after=2)
        truncated = (await stream(sim, wire)).content
        sim.fail_next("no_end", after=2)
        unfinished = (await stream(sim, wire)).content
    assert not truncated.endswith(b"\n")
    assert unfinished.endswith(b"\n")
    assert len(unfinished) < len(truncated) < len(whole)
    assert letters(unfinished) == "ab"


@every_format
async def test_a_fault_may_be_named_in_the_request(wire: str):
    path, body = ASKS[wire]
    async with Simulator([{"text": "hi"}]) as sim:
        refused = await post(sim, path, body, {**VERSION, "x-simulate-fault": "429; retry_after=3"})
        unknown = await post(sim, path, body, {**VERSION, "x-simulate-fault": "nonsense"})
    assert refused.status_code == 429
    assert unknown.status_code == 400
    assert "unknown fault" in unknown.text


async def test_faults_of_a_step_play_in_order_and_then_it_succeeds():
    faults = [{"name": "500", "times": 2}, {"name": "429", "times": 1, "message": "slow down"}]
    async with Simulator([{"text": "hi", "fault": faults}]) as sim:
        statuses = [(await stream(sim, "chat")).status_code for _ in range(4)]
        other = await stream(sim, "chat", messages=[{"role": "user", "content": "another session"}])
    assert statuses == [500, 500, 429, 200]
    assert other.status_code == 500


async def test_azure_speaks_its_dialect():
    path = "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    async with Simulator({"conversations": [{"match": {"model": "my-gpt"}, "steps": [{"text": "hi"}]}]}) as sim:
        events = data_of(await post(sim, path, {"messages": [USER], "stream": True}))
        sim.fail_next("401")
        refused = await post(sim, path, {"messages": [USER]})
        v1 = await post(sim, "/openai/v1/responses", {"model": "my-gpt", "input": "hi"})
    assert events[0]["choices"] == []
    assert events[0]["prompt_filter_results"]
    assert events[2]["choices"][0]["delta"]["content"] == "hi"
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "401")
    assert v1.json()["status"] == "completed"


async def test_vertex_speaks_its_dialect():
    base = "/v1/projects/p/locations/l/publishers/google/models"
    headers = {"authorization": "Bearer token"}
    async with Simulator([{"text": "hi"}], require_key="token") as sim:
        answer = await post(sim, f"{base}/gemini-2.5-pro:generateContent", ASKS["gemini"][1], headers)
        counted = await post(sim, f"{base}/gemini-2.5-pro:countTokens", ASKS["gemini"][1], headers)
        wrong = await post(
            sim, f"{base}/gemini-2.5-pro:generateContent", ASKS["gemini"][1], {"authorization": "Bearer x"}
        )
        empty = {"contents": [{"parts": [{"text": ""}]}]}
        refused = await post(sim, f"{base}/gemini-2.5-pro:generateContent", empty, headers)
    assert answer.json()["candidates"][0]["content"]["parts"] == [{"text": "hi"}]
    assert counted.json()["totalTokens"] > 0
    assert (wrong.status_code, wrong.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
    assert "has an empty text parameter" in refused.json()["error"]["message"]


async def test_thousands_of_chunks_leave_at_once():
    async with Simulator([{"text": "x" * 20_000, "chunk_chars": 1}]) as sim:
        answer = await stream(sim, "chat")
    assert answer.text.count('"content":"x"') == 20_000
