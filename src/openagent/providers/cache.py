"""Answers kept for identical requests at temperature 0: for evaluations and tests that ask the same thing again."""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from openagent.plugins.provider import (
    Answer,
    CallChunk,
    ModelInfo,
    ModelRequest,
    Provider,
    StreamItem,
    TextChunk,
    ThinkingChunk,
)
from openagent.protocol.messages import TextPart, ThinkingPart, ToolCallPart
from openagent.protocol.usage import Usage


class CachingProvider:
    """Wraps a provider. An answer from the cache costs nothing, so its usage is nothing."""

    def __init__(self, inner: Provider, *, max_bytes: int = 32 * 1024 * 1024) -> None:
        self.name = inner.name
        self.scripted = inner.scripted
        self._inner = inner
        self._max_bytes = max_bytes
        self._bytes = 0
        self._answers: OrderedDict[bytes, tuple[Answer, int]] = OrderedDict()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        if request.temperature != 0:
            async with aclosing(self._inner.stream(request)) as items:
                async for item in items:
                    yield item
            return
        key = _key(request)
        if known := self._answers.get(key):
            self._answers.move_to_end(key)
            for item in _replay(known[0]):
                yield item
            return
        async with aclosing(self._inner.stream(request)) as items:
            async for item in items:
                if isinstance(item, Answer):
                    self._keep(key, item)
                yield item

    def _keep(self, key: bytes, answer: Answer) -> None:
        if key in self._answers or answer.stop_reason not in ("end", "tool_calls"):
            return
        size = len(msgspec.json.encode(answer.parts)) + len(answer.raw_response)
        kept = msgspec.structs.replace(answer, usage=Usage(), raw_request=b"")
        self._answers[key] = (kept, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            _, (_, freed) = self._answers.popitem(last=False)
            self._bytes -= freed

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()


def _key(request: ModelRequest) -> bytes:
    """Of everything that reaches the model, and nothing else: not who asks, nor when a message was written."""
    asked = (
        request.model,
        request.system,
        [(message.role, message.parts) for message in request.messages],
        request.tools,
        request.max_output_tokens,
        request.thinking,
    )
    return hashlib.sha256(msgspec.json.encode(asked)).digest()


def _replay(answer: Answer) -> list[StreamItem]:
    items: list[StreamItem] = []
    for part in answer.parts:
        match part:
            case TextPart():
                items.append(TextChunk(part.text))
            case ThinkingPart() if part.text:
                items.append(ThinkingChunk(part.text))
            case ToolCallPart():
                items.append(CallChunk(part.id, part.name))
            case _:
                pass
    return [*items, answer]
