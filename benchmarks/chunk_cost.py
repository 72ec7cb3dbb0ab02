"""One streamed answer, read by one of our adapters or by the vendor's own library, in a process of its own.

`python -m benchmarks.chunk_cost {ours|official} FORMAT URL CHUNKS` prints microseconds of CPU time for each chunk. A
short answer is read first, so that connecting, imports and first uses are not counted.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from openagent.plugins.provider import ModelRequest, TextChunk
from openagent.protocol.messages import Message, TextPart

WARM_UP, MEASURED = "a little", "a lot"
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "chat": "gpt-4.1",
    "responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
}
Reader = Callable[[str], Awaitable[int]]
"""From a prompt to the number of text chunks in its answer."""


def _ours(wire: str, url: str) -> Reader:
    from openagent.providers.build import ProviderSettings, build_provider

    kinds: dict[str, dict[str, Any]] = {
        "anthropic": {"kind": "anthropic"},
        "chat": {"kind": "compatible"},
        "responses": {"kind": "openai", "api": "responses"},
        "gemini": {"kind": "gemini"},
    }
    provider = build_provider(wire, ProviderSettings(**kinds[wire], base_url=url, api_key="none"), {})

    async def read(prompt: str) -> int:
        request = ModelRequest(MODELS[wire], "", [Message(1, "user", [TextPart(prompt)])])
        async with aclosing(provider.stream(request)) as items:
            return sum([isinstance(item, TextChunk) async for item in items])

    return read


def _official(wire: str, url: str) -> Reader:
    makers: dict[str, Callable[[str], Callable[[str], Awaitable[AsyncIterator[Any]]]]] = {
        "anthropic": _anthropic,
        "chat": _chat,
        "responses": _responses,
        "gemini": _gemini,
    }
    stream = makers[wire](url)

    async def read(prompt: str) -> int:
        return sum([1 async for _ in await stream(prompt)])

    return read


def _anthropic(url: str) -> Callable[[str], Awaitable[AsyncIterator[Any]]]:
    import anthropic

    sdk: Any = anthropic.AsyncAnthropic(base_url=url, api_key="none")
    return lambda prompt: sdk.messages.create(
        model=MODELS["anthropic"], max_tokens=4096, stream=True, messages=[{"role": "user", "content": prompt}]
    )


def _chat(url: str) -> Callable[[str], Awaitable[AsyncIterator[Any]]]:
    import openai

    sdk: Any = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
    return lambda prompt: sdk.chat.completions.create(
        model=MODELS["chat"], stream=True, messages=[{"role": "user", "content": prompt}]
    )


def _responses(url: str) -> Callable[[str], Awaitable[AsyncIterator[Any]]]:
    import openai

    sdk: Any = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
    return lambda prompt: sdk.responses.create(model=MODELS["responses"], stream=True, input=prompt, store=False)


def _gemini(url: str) -> Callable[[str], Awaitable[AsyncIterator[Any]]]:
    from google import genai
    from google.genai import types

    sdk: Any = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url)).aio
    return lambda prompt: sdk.models.generate_content_stream(model=MODELS["gemini"], contents=prompt)


async def measure(who: str, wire: str, url: str, chunks: int) -> float:
    read = (_ours if who == "ours" else _official)(wire, url)
    await read(WARM_UP)
    began = time.process_time()
    seen = await read(MEASURED)
    took = time.process_time() - began
    assert seen >= chunks, f"{seen} chunks instead of {chunks}"
    return 1e6 * took / chunks


if __name__ == "__main__":
    print(asyncio.run(measure(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))))
