"""What every Provider must do. A plugin author subclasses `ProviderContract` and gives it two fixtures:

    class TestMyProvider(ProviderContract):
        @pytest.fixture
        def provider(self) -> Provider: return MyProvider(ProviderOptions("mine"))

        @pytest.fixture
        def model(self) -> str: return "small"

and has a fixture `anyio_backend` that says "asyncio". Nothing here needs the network unless the provider does.
"""

import asyncio
from contextlib import aclosing

import pytest

from openagent.plugins.provider import Answer, ModelRequest, Provider, StreamItem, TextChunk, ToolSchema
from openagent.protocol.messages import Message, NotePart, TextPart, ToolCallPart, ToolResultPart

HISTORY = [
    Message(1, "user", [NotePart("rules:AGENTS.md", "Be brief.", pinned=True)]),
    Message(2, "user", [TextPart("What is in a.txt?")]),
    Message(3, "assistant", [TextPart("I look."), ToolCallPart("call_1", "read_file", {"path": "a.txt"})]),
    Message(4, "tool", [ToolResultPart("call_1", "read_file", "hello")]),
    Message(5, "user", [TextPart("And now?")]),
]
TOOLS = [ToolSchema("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})]


def request(model: str, messages: list[Message] | None = None) -> ModelRequest:
    said = messages or [Message(1, "user", [TextPart("Say hello.")])]
    return ModelRequest(model=model, system="You are helpful.", messages=said, tools=TOOLS, max_output_tokens=64)


async def everything(provider: Provider, asked: ModelRequest) -> list[StreamItem]:
    async with asyncio.timeout(60), aclosing(provider.stream(asked)) as stream:
        return [item async for item in stream]


class ProviderContract:
    pytestmark = pytest.mark.anyio

    def test_it_has_a_name_and_says_whether_it_is_scripted(self, provider: Provider) -> None:
        assert provider.name
        assert "/" not in provider.name
        assert provider.scripted in (True, False)

    async def test_a_stream_ends_with_one_answer(self, provider: Provider, model: str) -> None:
        items = await everything(provider, request(model))
        assert [isinstance(item, Answer) for item in items].count(True) == 1
        assert isinstance(items[-1], Answer)

    async def test_what_was_streamed_is_what_was_answered(self, provider: Provider, model: str) -> None:
        *chunks, answer = await everything(provider, request(model))
        assert isinstance(answer, Answer)
        streamed = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
        assert streamed == "".join(part.text for part in answer.parts if isinstance(part, TextPart))

    async def test_tokens_are_counted_or_said_to_be_estimated(self, provider: Provider, model: str) -> None:
        answer = (await everything(provider, request(model)))[-1]
        assert isinstance(answer, Answer)
        assert answer.usage.estimated or answer.usage.input_tokens > 0 or provider.scripted
        assert min(answer.usage.input_tokens, answer.usage.output_tokens) >= 0

    async def test_a_history_with_notes_and_results_is_accepted(self, provider: Provider, model: str) -> None:
        assert isinstance((await everything(provider, request(model, HISTORY)))[-1], Answer)

    async def test_a_stream_may_be_closed_at_any_time(self, provider: Provider, model: str) -> None:
        stream = provider.stream(request(model))
        await anext(stream)
        async with asyncio.timeout(5):
            await stream.aclose()

    async def test_its_models_can_be_asked_for(self, provider: Provider) -> None:
        assert all(info.name for info in await provider.models())
