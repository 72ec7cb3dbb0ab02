"""Answers that almost keep to their format: what can be read is read, what cannot be meant is not taken for granted."""

import asyncio
import logging
import re
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.simulator import Simulator
from openagent.plugins.provider import Answer, EmptyAnswer, MalformedAnswer, Provider, RetryNotice
from openagent.providers import http
from openagent.providers.build import build_provider
from openagent.providers.retry import RetryingProvider, RetryPolicy
from openagent.providers.sse import EventParser
from openagent.providers.unicode import mend_text

from ..servers import patient
from .harness import FORMATS, answer_to, ask, calls_of, canned, connect, items_of, settings_for, text_of

pytestmark = pytest.mark.anyio
every_format = pytest.mark.parametrize("wire", FORMATS)

HELLO: dict[str, Any] = {"text": "Hello there.", "usage": {"input": 1200, "output": 34}, "chunk_chars": 0}
NOTHING = {
    "chat": "data: {}\n\ndata: [DONE]\n\n",
    "anthropic": 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7}}\n\n'
    'data: {"type":"message_stop"}\n\n',
    "responses": 'data: {"type":"response.completed","response":{"usage":{"input_tokens":7,"output_tokens":0}}}\n\n',
    "gemini": 'data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7}}\n\n',
}


async def no_pause(_now: asyncio.Event, _seconds: float) -> None:
    return


async def sent_by(wire: str, step: dict[str, Any]) -> str:
    """An answer in the wire format, as it goes over the line."""
    async with Simulator([step]) as sim, connect(wire, sim) as provider:
        return (await answer_to(provider, ask(wire))).raw_response.decode()


@asynccontextmanager
async def sending(wire: str, body: str) -> AsyncGenerator[Provider]:
    async with Simulator([]) as sim, canned(body, content_type="text/event-stream") as url:
        provider = build_provider(wire, settings_for(wire, sim, base_url=url), {})
        try:
            yield RetryingProvider(provider, RetryPolicy(), wait=no_pause)
        finally:
            await provider.close()


@every_format
@pytest.mark.parametrize("newline", ["\r", "\r\n"])
async def test_lines_may_end_in_every_way_that_the_format_allows(wire: str, newline: str):
    body = (await sent_by(wire, HELLO)).replace("\r\n", "\n").replace("\n", newline)
    async with sending(wire, body) as provider:
        assert text_of((await answer_to(provider, ask(wire))).parts) == "Hello there."


@every_format
async def test_half_a_character_costs_that_character_and_nothing_else(wire: str):
    body = (await sent_by(wire, HELLO)).replace("Hello", r"H\ud83dllo")
    async with sending(wire, body) as provider:
        assert text_of((await answer_to(provider, ask(wire))).parts) == "H\ufffdllo there."


@every_format
async def test_half_a_character_in_a_calls_arguments_is_replaced_too(wire: str):
    step = {"tool_calls": [{"name": "shell", "arguments": {"command": "echo HALF"}}], "chunk_chars": 0}
    body = (await sent_by(wire, step)).replace("HALF", r"\ud83d" if wire == "gemini" else r"\\ud83d")
    async with sending(wire, body) as provider:
        (call,) = calls_of((await answer_to(provider, ask(wire))).parts)
    assert (call.arguments, call.invalid_arguments) == ({"command": "echo \ufffd"}, None)


@every_format
@pytest.mark.parametrize("count", ["-500", "1" + "0" * 20, "1e300"])
async def test_numbers_of_tokens_that_cannot_be_are_not_booked(wire: str, count: str, caplog: pytest.LogCaptureFixture):
    body = re.sub(r"\b1200\b", count, await sent_by(wire, HELLO))
    assert count in body
    async with sending(wire, body) as provider:
        with caplog.at_level(logging.WARNING, "openagent.providers"):
            answer = await answer_to(provider, ask(wire))
    assert answer.usage.estimated
    assert answer.usage.input_tokens == 0
    assert "impossible token counts" in caplog.text


@every_format
async def test_numbers_that_are_missing_or_have_a_point_are_read(wire: str):
    body = re.sub(r"\b34\b", "null", re.sub(r"\b1200\b", "1200.0", await sent_by(wire, HELLO)))
    async with sending(wire, body) as provider:
        usage = (await answer_to(provider, ask(wire))).usage
    assert (usage.input_tokens, usage.estimated) == (1200, False)


@every_format
async def test_an_answer_that_says_nothing_is_asked_for_once_more_and_then_told(wire: str):
    notices: list[RetryNotice] = []

    async def listen(provider: Provider) -> None:
        async for item in provider.stream(ask(wire)):
            assert isinstance(item, RetryNotice)
            notices.append(item)

    async with sending(wire, NOTHING[wire]) as provider:
        with pytest.raises(EmptyAnswer, match="nothing in it") as caught:
            await listen(provider)
    assert len(notices) == 1
    assert caught.value.usage is not None
    if wire != "chat":
        assert (caught.value.usage.input_tokens, notices[0].usage) == (7, caught.value.usage), "it is paid for"


@every_format
async def test_an_answer_after_one_that_said_nothing_counts(wire: str):
    bodies = [NOTHING[wire], await sent_by(wire, HELLO)]
    async with Simulator([]) as sim, canned_in_turn(bodies) as url:
        provider = build_provider(wire, settings_for(wire, sim, base_url=url), {})
        items = await items_of(RetryingProvider(provider, RetryPolicy(), wait=no_pause), ask(wire))
        await provider.close()
    assert isinstance(items[0], RetryNotice)
    answer = items[-1]
    assert isinstance(answer, Answer)
    assert text_of(answer.parts) == "Hello there."


@asynccontextmanager
async def canned_in_turn(bodies: list[str]) -> AsyncGenerator[str]:
    waiting = list(bodies)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(asked.split("content-length: ")[1].split("\r\n")[0]))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        writer.write(waiting.pop(0).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(patient(serve), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@every_format
async def test_a_refusal_without_words_is_a_refusal(wire: str):
    async with Simulator([{"text": "", "stop": "max_tokens"}]) as sim, connect(wire, sim) as inner:
        provider = RetryingProvider(inner, RetryPolicy(), wait=no_pause)
        assert (await answer_to(provider, ask(wire))).stop_reason == "max_tokens"


@asynccontextmanager
async def endless(piece: Callable[[], bytes]) -> AsyncGenerator[str]:
    """A server that never comes to an end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        try:
            while True:
                writer.write(piece())
                await writer.drain()
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(patient(serve), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


CHUNK = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % (b"x" * 4000)


@pytest.mark.parametrize(
    ("piece", "what"),
    [
        (b"data: x\n" * 4096, "an event"),
        (b"x" * 65536, "an event"),
        (b"data: " + b" " * 65536, "an event"),
        (CHUNK * 16, "an answer"),
    ],
    ids=["lines without a blank one", "no line end", "data without a line end", "events for ever"],
)
async def test_a_stream_without_an_end_is_cut_off_within_bounded_memory(
    piece: bytes, what: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http, "MAX_EVENT", 1024 * 1024)
    monkeypatch.setattr(http, "MAX_ANSWER", 2 * 1024 * 1024)
    async with Simulator([]) as sim, endless(lambda: piece) as url:
        provider = build_provider("chat", settings_for("chat", sim, base_url=url), {})
        tracemalloc.start()
        try:
            with pytest.raises(MalformedAnswer, match=f"sent {what} without an end: more than . MB"):
                async for _ in provider.stream(ask("chat")):
                    pass
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            await provider.close()
    assert peak < 24 * 1024 * 1024


def test_a_long_line_is_copied_no_more_often_than_a_short_one():
    """Bytes held grow with the line; what is handed out is it, once."""
    parser = EventParser()
    assert parser.feed(b"data: ") == []
    for _ in range(64):
        assert parser.feed(b"x" * 1000) == []
    assert parser.held == len("data: ") + 64_000
    assert parser.feed(b"\n\n") == [b" " + b"x" * 64_000]
    assert parser.held == 0


@given(st.text(), st.text())
def test_mending_changes_nothing_that_is_whole(before: str, after: str):
    whole = msgspec.json.encode([before.encode("utf-8", "replace").decode(), after.encode("utf-8", "replace").decode()])
    assert mend_text(whole) == whole
