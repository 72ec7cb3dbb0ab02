"""What the official SDKs make of the same answer."""

import json
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types as genai_types

from .harness import MODELS


@dataclass
class Heard:
    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    tokens: tuple[int, int] = (0, 0)
    """Everything read and everything written."""


async def hear(wire: str, base_url: str) -> Heard:
    return await _EARS[wire](base_url)


async def _anthropic(base_url: str) -> Heard:
    async with anthropic.AsyncAnthropic(base_url=base_url, api_key="test-key", max_retries=0) as client:
        sdk: Any = client
        async with sdk.messages.stream(
            model="claude-opus-5",
            max_tokens=4000,
            messages=[{"role": "user", "content": "hi"}],
            thinking={"type": "adaptive"},
        ) as events:
            message = await events.get_final_message()
    heard = Heard()
    for block in message.content:
        match block.type:
            case "thinking":
                heard.thinking += block.thinking
            case "text":
                heard.text += block.text
            case "tool_use":
                heard.calls.append((block.name, block.input))
            case _:
                raise AssertionError(block.type)
    usage = message.usage
    read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    heard.tokens = (read, usage.output_tokens)
    return heard


async def _chat(base_url: str) -> Heard:
    async with openai.AsyncOpenAI(base_url=base_url + "/v1", api_key="test-key", max_retries=0) as client:
        sdk: Any = client
        async with sdk.chat.completions.stream(
            model=MODELS["chat"],
            messages=[{"role": "user", "content": "hi"}],
            stream_options={"include_usage": True},
        ) as events:
            completion = await events.get_final_completion()
    message, usage = completion.choices[0].message, completion.usage
    return Heard(
        message.content or "",
        getattr(message, "reasoning_content", ""),
        [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()],
        (usage.prompt_tokens, usage.completion_tokens),
    )


async def _responses(base_url: str) -> Heard:
    async with openai.AsyncOpenAI(base_url=base_url + "/v1", api_key="test-key", max_retries=0) as client:
        sdk: Any = client
        async with sdk.responses.stream(
            model=MODELS["responses"], input="hi", reasoning={"summary": "auto"}, store=False
        ) as events:
            response = await events.get_final_response()
    heard = Heard(response.output_text, tokens=(response.usage.input_tokens, response.usage.output_tokens))
    for item in response.output:
        if item.type == "reasoning":
            heard.thinking += "".join(part.text for part in item.summary)
        elif item.type == "function_call":
            heard.calls.append((item.name, json.loads(item.arguments)))
    return heard


async def _gemini(base_url: str) -> Heard:
    by_httpx = {"transport": httpx2.AsyncHTTPTransport()}
    options = genai_types.HttpOptions(base_url=base_url, async_client_args=by_httpx)
    sdk: Any = genai.Client(api_key="test-key", http_options=options).aio
    config = genai_types.GenerateContentConfig(thinking_config=genai_types.ThinkingConfig(include_thoughts=True))
    heard = Heard()
    async for answer in await sdk.models.generate_content_stream(model=MODELS["gemini"], contents="hi", config=config):
        for part in answer.candidates[0].content.parts:
            if part.function_call:
                heard.calls.append((part.function_call.name, part.function_call.args))
            elif part.thought:
                heard.thinking += part.text
            else:
                heard.text += part.text
        usage = answer.usage_metadata
        written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        heard.tokens = (usage.prompt_token_count, written)
    await sdk.aclose()
    return heard


_EARS = {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "gemini": _gemini}
