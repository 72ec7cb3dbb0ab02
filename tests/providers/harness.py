"""Our four adapters behind one small face, so that every test can be run over every format."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.config.settings import ProviderKind, ProviderSettings
from openagent.plugins.provider import (
    Answer,
    ModelRequest,
    Notice,
    Provider,
    StreamItem,
    TextChunk,
    ThinkingChunk,
    ToolSchema,
)
from openagent.protocol.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from openagent.providers.build import build_provider

from ..servers import patient

FORMATS = ["anthropic", "chat", "responses", "gemini"]
MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-4-5",
    "chat": "gpt-4.1",
    "responses": "gpt-5",
    "gemini": "gemini-3-pro-preview",
}
_KINDS: Mapping[str, ProviderKind] = {
    "anthropic": "anthropic",
    "chat": "compatible",
    "responses": "openai",
    "gemini": "gemini",
}
TOOLS = [
    ToolSchema(
        "shell",
        "Run a command.",
        {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    ),
    ToolSchema(
        "read_file",
        "Read a file.",
        {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    ),
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def settings_for(wire: str, sim: Simulator | ThreadedSimulator, **changes: Any) -> ProviderSettings:
    fields: dict[str, Any] = {"kind": _KINDS[wire], "base_url": sim.base_url, "api_key": "test-key"}
    if wire == "responses":
        fields["api"] = "responses"
    return ProviderSettings(**{**fields, **changes})


@asynccontextmanager
async def connect(wire: str, sim: Simulator | ThreadedSimulator, **changes: Any) -> AsyncGenerator[Provider]:
    provider = build_provider(wire, settings_for(wire, sim, **changes), {})
    try:
        yield provider
    finally:
        await provider.close()


@asynccontextmanager
async def canned(
    body: str, *, status: str = "200 OK", content_type: str = "application/json", headers: str = ""
) -> AsyncGenerator[str]:
    """A server that says the same to everybody."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{headers}Connection: close\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "content-length: " in asked:
            await reader.readexactly(int(asked.split("content-length: ")[1].split("\r\n")[0]))
        writer.write((head + body).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(patient(serve), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def user(text: str, *images: Part, number: int = 1) -> Message:
    return Message(number, "user", [TextPart(text), *images])


def ask(wire: str, *messages: Message, **options: Any) -> ModelRequest:
    fields: dict[str, Any] = {
        "model": MODELS[wire],
        "system": "You are a test.",
        "messages": list(messages) or [user("hi")],
        "tools": TOOLS,
        "thinking": None if wire == "chat" else "low",
        "session": "test",
    }
    return ModelRequest(**{**fields, **options})


async def items_of(provider: Provider, request: ModelRequest) -> list[StreamItem]:
    async with aclosing(provider.stream(request)) as stream:
        return [item async for item in stream]


async def answer_to(provider: Provider, request: ModelRequest) -> Answer:
    *chunks, answer = await items_of(provider, request)
    assert isinstance(answer, Answer)
    assert not any(isinstance(chunk, Answer | Notice) for chunk in chunks)
    streamed = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
    thought = "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk))
    assert streamed == text_of(answer.parts)
    assert thought == thinking_of(answer.parts)
    return answer


def text_of(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def thinking_of(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, ThinkingPart))


def calls_of(parts: Sequence[Part]) -> list[ToolCallPart]:
    return [part for part in parts if isinstance(part, ToolCallPart)]


def said(number: int, answer: Answer) -> Message:
    """The answer as it would be kept."""
    return Message(number, "assistant", answer.parts, model=answer.model, stop_reason=answer.stop_reason)


def result(number: int, call: ToolCallPart, text: str, **changes: Any) -> Message:
    return Message(number, "tool", [ToolResultPart(call.id, call.name, text, **changes)])
