"""The official SDKs read everything the simulator says, in every format, streamed and whole."""

import json
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google.genai import errors as genai_errors

from devtools.simulator import Simulator

from .sdks import CLIENTS, SdkClient, connect

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"]),
    pytest.mark.parametrize("wire", list(CLIENTS)),
]

TOOLS_STEP: dict[str, Any] = {
    "text": "Looking around.",
    "thinking": "First a look at the files, then at the notes. This takes more than one chunk.",
    "tool_calls": [
        {"name": "shell", "arguments": {"command": "ls -la; echo 'ünïcödé'"}},
        {"name": "read_file", "arguments": {"path": "notes.txt"}},
    ],
}


def arguments(call: tuple[str, Any]) -> Any:
    return json.loads(call[1]) if isinstance(call[1], str) else call[1]


async def test_text_arrives_complete(wire: str, stream: bool):
    said = "A long answer — with ünïcödé and 日本語 — " * 20
    async with Simulator([{"text": said}]) as sim, connect(wire, sim.base_url) as client:
        heard = await client.ask(stream=stream)
    assert heard.text == said
    assert heard.stop in ("end_turn", "stop", "completed", "STOP")
    assert heard.calls == []


async def test_thinking_and_parallel_tools_make_a_round_trip(wire: str, stream: bool):
    async with Simulator([TOOLS_STEP, {"text": "I saw: {last_result}"}]) as sim, connect(wire, sim.base_url) as client:
        heard = await client.ask(stream=stream)
        assert heard.thinking == TOOLS_STEP["thinking"]
        assert heard.text == TOOLS_STEP["text"]
        assert [name for name, _ in heard.calls] == ["shell", "read_file"]
        assert arguments(heard.calls[0]) == {"command": "ls -la; echo 'ünïcödé'"}
        assert arguments(heard.calls[1]) == {"path": "notes.txt"}
        assert heard.stop in ("tool_use", "tool_calls", "completed", "STOP")
        assert bool(heard.signature) == (wire != "chat")

        after = await client.ask(*client.results(heard, "two files", "buy milk"), stream=stream)
        assert after.text == "I saw: buy milk"
        assert [record.step for record in sim.requests] == [0, 1]


async def test_usage_has_the_vendors_shape(wire: str, stream: bool):
    usage = {"input": 1000, "cached": 600, "cache_write": 100, "output": 80, "reasoning": 30}
    step = {"text": "Hi.", "thinking": "Hm.", "usage": usage}
    async with Simulator([step]) as sim, connect(wire, sim.base_url) as client:
        heard = await client.ask(stream=stream)
    openai_shape = {**usage, "total": 1080}
    assert (
        heard.usage
        == {
            "anthropic": {**usage, "input": 300},
            "chat": openai_shape,
            "responses": openai_shape,
            "gemini": {"input": 1000, "cached": 600, "output": 50, "reasoning": 30, "total": 1080},
        }[wire]
    )


async def test_usage_is_estimated_when_the_script_is_silent(wire: str, stream: bool):
    async with Simulator([{"text": "x" * 400}]) as sim, connect(wire, sim.base_url) as client:
        heard = await client.ask(stream=stream)
    assert heard.usage["output"] == 100
    assert (heard.usage["input"] or 0) > 10


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("max_tokens", {"max_tokens", "length", "max_output_tokens", "MAX_TOKENS"}),
        ("content_filter", {"refusal", "content_filter", "SAFETY"}),
    ],
)
async def test_stop_reasons(wire: str, stream: bool, stop: str, expected: set[str]):
    async with Simulator([{"text": "Once upon", "stop": stop}]) as sim, connect(wire, sim.base_url) as client:
        if (wire, stream) == ("chat", True):
            with pytest.raises((openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError)):
                await client.ask(stream=stream)
            return
        heard = await client.ask(stream=stream)
    assert heard.text == "Once upon"
    assert heard.stop in expected


async def test_a_step_may_send_nothing_but_tool_calls(wire: str, stream: bool):
    step = {"tool_calls": [{"name": "shell", "arguments": {"command": "ls"}}]}
    async with Simulator([step, {"text": "done"}]) as sim, connect(wire, sim.base_url) as client:
        heard = await client.ask(stream=stream)
        assert heard.text == ""
        assert (await client.ask(*client.results(heard, "ok"), stream=stream)).text == "done"


STATUS_ERRORS: dict[str, tuple[type[Exception], type[Exception], int | None]] = {
    "403": (anthropic.PermissionDeniedError, openai.PermissionDeniedError, 403),
    "404": (anthropic.NotFoundError, openai.NotFoundError, 404),
    "429": (anthropic.RateLimitError, openai.RateLimitError, 429),
    "500": (anthropic.InternalServerError, openai.InternalServerError, 500),
    "503": (anthropic.ServiceUnavailableError, openai.InternalServerError, 503),
    "529": (anthropic.OverloadedError, openai.InternalServerError, 529),
    "context_too_long": (anthropic.BadRequestError, openai.BadRequestError, 400),
    "html": (anthropic.InternalServerError, openai.InternalServerError, 502),
}


@pytest.mark.parametrize("fault", list(STATUS_ERRORS))
async def test_error_faults_raise_the_sdks_own_class(wire: str, stream: bool, fault: str):
    for_anthropic, for_openai, status = STATUS_ERRORS[fault]
    async with Simulator([{"text": "hi", "fault": fault}]) as sim, connect(wire, sim.base_url) as client:
        error = await failure(client, stream)
        assert sim.requests[-1].fault == fault
    if wire == "gemini":
        assert isinstance(error, genai_errors.APIError)
        assert error.code == status
        assert isinstance(error, genai_errors.ClientError if (status or 0) < 500 else genai_errors.ServerError)
    else:
        assert type(error) is (for_anthropic if wire == "anthropic" else for_openai)
        assert getattr(error, "status_code", None) == status


async def test_a_wrong_key_is_refused(wire: str, stream: bool):
    async with Simulator([{"text": "hi"}], require_key="right") as sim:
        async with connect(wire, sim.base_url, key="right") as client:
            assert (await client.ask(stream=stream)).text == "hi"
        async with connect(wire, sim.base_url, key="wrong") as client:
            error = await failure(client, stream)
    if wire == "gemini":
        assert isinstance(error, genai_errors.ClientError)
        assert (error.code, error.status) == (400, "INVALID_ARGUMENT")
        assert "API_KEY_INVALID" in str(error)
    else:
        assert isinstance(error, anthropic.AuthenticationError | openai.AuthenticationError)


async def test_an_exhausted_quota_can_be_told_from_a_rate_limit(wire: str, stream: bool):
    async with Simulator([{"text": "hi", "fault": ["quota"]}]) as sim, connect(wire, sim.base_url) as client:
        error = await failure(client, stream)
    if isinstance(error, openai.RateLimitError):
        assert error.code == "insufficient_quota"
    elif isinstance(error, anthropic.BadRequestError):
        assert "credit balance is too low" in error.message
    else:
        assert isinstance(error, genai_errors.ClientError)
        assert "PerDay" in str(error)


async def test_retry_after_is_sent_where_the_vendor_sends_it(wire: str, stream: bool):
    async with Simulator([{"text": "hi"}]) as sim, connect(wire, sim.base_url) as client:
        sim.fail_next("429", retry_after=7)
        error = await failure(client, stream)
        assert (await client.ask(stream=stream)).text == "hi"
    if isinstance(error, genai_errors.ClientError):
        assert "'retryDelay': '7s'" in str(error)
    else:
        assert isinstance(error, anthropic.RateLimitError | openai.RateLimitError)
        assert error.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("fault", ["disconnect", "reset"])
async def test_a_broken_connection_is_a_connection_error(wire: str, stream: bool, fault: str):
    step = {"text": "hello world", "chunk_chars": 3, "fault": {"name": fault, "after": 2}}
    async with Simulator([step]) as sim, connect(wire, sim.base_url) as client:
        error = await failure(client, stream)
    assert isinstance(error, openai.APIConnectionError | anthropic.APIConnectionError | httpx2.RemoteProtocolError)


@pytest.mark.parametrize("fault", ["stall", "hang"])
async def test_silence_runs_into_the_clients_timeout(wire: str, stream: bool, fault: str):
    step = {"text": "hello world", "chunk_chars": 3, "fault": {"name": fault, "after": 1}}
    async with Simulator([step]) as sim, connect(wire, sim.base_url, timeout=0.1) as client:
        error = await failure(client, stream)
        await sim.until(lambda: sim.requests[-1].disconnected_at)
        assert sim.requests[-1].finished_at is None
    assert isinstance(error, openai.APITimeoutError | anthropic.APITimeoutError | httpx2.ReadTimeout)


async def test_garbage_is_no_json(wire: str, stream: bool):
    step = {"text": "hello world", "chunk_chars": 3, "fault": {"name": "garbage", "after": 1}}
    async with Simulator([step]) as sim, connect(wire, sim.base_url) as client:
        error = await failure(client, stream)
    assert isinstance(error, json.JSONDecodeError | genai_errors.UnknownApiResponseError)


async def test_errors_inside_a_stream(wire: str, stream: bool):
    step = {"text": "hello world", "chunk_chars": 3, "fault": {"name": "stream_error", "after": 1}}
    async with Simulator([step]) as sim, connect(wire, sim.base_url) as client:
        if (wire, stream) == ("responses", True):
            heard = await client.ask(stream=True)
            assert heard.kinds[-1] == heard.stop == "response.failed"
            return
        error = await failure(client, stream)
    if wire == "gemini":
        assert isinstance(error, genai_errors.ServerError)
    else:
        assert isinstance(error, anthropic.APIStatusError | openai.APIError)


async def failure(client: SdkClient, stream: bool) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each caller says which class it must be
        await client.ask(stream=stream)
    return caught.value
