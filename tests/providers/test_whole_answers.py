"""Servers that do not stream although they were asked to, and servers that send nothing but signs of life."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from openagent.config.settings import ProviderKind, ProviderSettings
from openagent.plugins.provider import Answer, ProviderTimeout
from openagent.providers import http
from openagent.providers.build import build_provider

from ..servers import patient
from .harness import ask, calls_of, canned, items_of, text_of

pytestmark = pytest.mark.anyio

CALL = {"command": "ls"}
PARTS = [{"text": "Look."}, {"functionCall": {"name": "shell", "args": CALL}}]
GEMINI = {
    "candidates": [{"content": {"parts": PARTS}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
}
WHOLE: dict[str, Any] = {
    "anthropic": {
        "type": "message",
        "model": "m-1",
        "content": [
            {"type": "text", "text": "Look."},
            {"type": "tool_use", "id": "c1", "name": "shell", "input": CALL},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "output_tokens": 3},
    },
    "responses": {
        "object": "response",
        "status": "completed",
        "model": "m-1",
        "output": [
            {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Look."}]},
            {"type": "function_call", "id": "f", "call_id": "c1", "name": "shell", "arguments": json.dumps(CALL)},
        ],
        "usage": {"input_tokens": 7, "output_tokens": 3},
    },
    "gemini": GEMINI,
    "gemini, as a list": [GEMINI],
}
KINDS: dict[str, ProviderKind] = {"anthropic": "anthropic", "responses": "openai", "gemini": "gemini"}


def settings_of(wire: str, url: str) -> ProviderSettings:
    api = "responses" if wire == "responses" else None
    return ProviderSettings(kind=KINDS.get(wire, "compatible"), api=api, base_url=url, api_key="k", timeout=0.5)


@pytest.mark.parametrize("case", WHOLE)
async def test_an_answer_that_comes_whole_is_read_in_every_format(case: str):
    wire = case.partition(",")[0]
    async with canned(json.dumps(WHOLE[case], indent=1)) as url:
        settings = settings_of(wire, url)
        provider = build_provider("odd", settings, {})
        items = await items_of(provider, ask(wire))
        await provider.close()
    answer = items[-1]
    assert isinstance(answer, Answer)
    assert (text_of(answer.parts), answer.stop_reason) == ("Look.", "tool_calls")
    assert [(call.name, call.arguments) for call in calls_of(answer.parts)] == [("shell", CALL)]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)


@asynccontextmanager
async def dripping(event: str) -> AsyncGenerator[str]:
    """A server that sends the same for ever."""

    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(f"{event}\n\n".encode())
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.close()

    server = await asyncio.start_server(patient(serve), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.wait([task for task in serving if task])


@pytest.mark.parametrize(
    ("wire", "event"),
    [
        ("chat", ": still here"),
        ("chat", 'data: {"choices": []}'),
        ("chat", 'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}'),
        ("anthropic", 'data: {"type": "ping"}'),
        ("responses", 'data: {"type": "response.in_progress"}'),
        ("gemini", 'data: {"usageMetadata": {"promptTokenCount": 7}}'),
    ],
)
async def test_signs_of_life_alone_do_not_hold_a_turn(wire: str, event: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "ONLY_ALIVE", 0.1)
    async with dripping(event) as url, asyncio.timeout(20):
        provider = build_provider("odd", settings_of(wire, url), {})
        with pytest.raises(ProviderTimeout, match="nothing but signs of life"):
            await items_of(provider, ask(wire))
        await provider.close()


async def test_arguments_of_a_call_are_more_than_a_sign_of_life(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "ONLY_ALIVE", 0.1)
    piece = 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":" "}}]}}]}'
    async with dripping(piece) as url:
        provider = build_provider("odd", settings_of("chat", url), {})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await items_of(provider, ask("chat"))
        await provider.close()
