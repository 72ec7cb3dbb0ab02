"""The official SDKs behind one small face, so that every test can be run over every format."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import anthropic
import httpx2
import openai
from google import genai
from google.genai import types as genai_types


@dataclass
class Heard:
    """What an SDK made of an answer."""

    text: str = ""
    thinking: str = ""
    signature: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    stop: str | None = None
    usage: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    kinds: list[str] = field(default_factory=list[str])
    """The kinds of events in a stream, in order."""
    reply: Any = None
    """What goes back into the history, in the SDK's own type."""


def plain_http(timeout: float) -> httpx2.AsyncClient:
    # Nothing here speaks TLS, and loading certificates takes longer than most tests.
    return httpx2.AsyncClient(verify=False, timeout=timeout)


class SdkClient(ABC):
    """One SDK, speaking one format. It never retries."""

    @abstractmethod
    async def ask(self, *history: Any, stream: bool, **options: Any) -> Heard:
        """Send a conversation that begins with "hi" and goes on with `history`."""

    @abstractmethod
    def results(self, heard: Heard, *outputs: str) -> list[Any]:
        """The assistant's message and the tool results that answer it, as further history."""

    @abstractmethod
    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AnthropicClient(SdkClient):
    model = "claude-simulated"

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        self.sdk: Any = anthropic.AsyncAnthropic(
            base_url=base_url, api_key=key, max_retries=0, timeout=timeout, http_client=plain_http(timeout)
        )

    async def ask(self, *history: Any, stream: bool, **options: Any) -> Heard:
        arguments: dict[str, Any] = {
            "model": self.model,
            "max_tokens": 4000,
            "messages": [{"role": "user", "content": "hi"}, *history],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            **options,
        }
        kinds: list[str] = []
        if stream:
            async with self.sdk.messages.stream(**arguments) as events:
                kinds = [event.type async for event in events]
                message: Any = await events.get_final_message()
        else:
            message = await self.sdk.messages.create(**arguments)
        heard = Heard(stop=message.stop_reason, kinds=kinds, reply=message)
        for block in message.content:
            if block.type == "thinking":
                heard.thinking, heard.signature = block.thinking, block.signature
            elif block.type == "text":
                heard.text += block.text
            elif block.type == "tool_use":
                heard.calls.append((block.name, block.input))
            else:
                heard.kinds.append(block.type)
        usage = message.usage
        heard.usage = {
            "input": usage.input_tokens,
            "cached": usage.cache_read_input_tokens,
            "cache_write": usage.cache_creation_input_tokens,
            "output": usage.output_tokens,
            "reasoning": usage.output_tokens_details.thinking_tokens,
        }
        return heard

    def results(self, heard: Heard, *outputs: str) -> list[Any]:
        calls = [block for block in heard.reply.content if block.type == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": output}
            for call, output in zip(calls, outputs, strict=True)
        ]
        return [heard.reply.to_param(), {"role": "user", "content": results}]

    async def close(self) -> None:
        await self.sdk.close()


class ChatClient(SdkClient):
    model = "gpt-4.1"

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        self.sdk: Any = openai.AsyncOpenAI(
            base_url=f"{base_url}/v1", api_key=key, max_retries=0, timeout=timeout, http_client=plain_http(timeout)
        )

    async def ask(self, *history: Any, stream: bool, **options: Any) -> Heard:
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": "hi"}, *history],
            **options,
        }
        kinds: list[str] = []
        if stream:
            arguments["stream_options"] = {"include_usage": True}
            async with self.sdk.chat.completions.stream(**arguments) as events:
                kinds = [event.type async for event in events]
                completion: Any = await events.get_final_completion()
        else:
            completion = await self.sdk.chat.completions.create(**arguments)
        message, usage = completion.choices[0].message, completion.usage
        tool_calls: list[Any] = message.tool_calls or []
        return Heard(
            text=message.content or "",
            thinking=getattr(message, "reasoning_content", ""),
            calls=[(call.function.name, call.function.arguments) for call in tool_calls],
            stop=completion.choices[0].finish_reason,
            usage={
                "input": usage.prompt_tokens,
                "cached": usage.prompt_tokens_details.cached_tokens,
                "cache_write": usage.prompt_tokens_details.cache_write_tokens,
                "output": usage.completion_tokens,
                "reasoning": usage.completion_tokens_details.reasoning_tokens,
                "total": usage.total_tokens,
            },
            kinds=kinds,
            reply=message,
        )

    def results(self, heard: Heard, *outputs: str) -> list[Any]:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": "{}"}}
            for call in heard.reply.tool_calls
        ]
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": output}
            for call, output in zip(calls, outputs, strict=True)
        ]
        return [{"role": "assistant", "content": heard.text or None, "tool_calls": calls}, *results]

    async def close(self) -> None:
        await self.sdk.close()


class ResponsesClient(SdkClient):
    model = "gpt-5"

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        self.sdk: Any = openai.AsyncOpenAI(
            base_url=f"{base_url}/v1", api_key=key, max_retries=0, timeout=timeout, http_client=plain_http(timeout)
        )

    async def ask(self, *history: Any, stream: bool, **options: Any) -> Heard:
        arguments: dict[str, Any] = {
            "model": self.model,
            "input": [{"role": "user", "content": "hi"}, *history],
            "reasoning": {"summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "store": False,
            **options,
        }
        kinds: list[str] = []
        if stream:
            async with self.sdk.responses.stream(**arguments) as events:
                heard_events: list[Any] = [event async for event in events]
            kinds = [event.type for event in heard_events]
            assert [event.sequence_number for event in heard_events] == list(range(len(kinds)))
            response: Any = heard_events[-1].response
            if response.error:
                assert response.error.code == "server_error"
                return Heard(stop=kinds[-1], kinds=kinds)
        else:
            response = await self.sdk.responses.create(**arguments)
        usage = response.usage
        heard = Heard(
            text=response.output_text,
            stop=response.incomplete_details.reason if response.incomplete_details else response.status,
            usage={
                "input": usage.input_tokens,
                "cached": usage.input_tokens_details.cached_tokens,
                "cache_write": usage.input_tokens_details.cache_write_tokens,
                "output": usage.output_tokens,
                "reasoning": usage.output_tokens_details.reasoning_tokens,
                "total": usage.total_tokens,
            },
            kinds=kinds,
            reply=response,
        )
        for item in response.output:
            if item.type == "reasoning":
                heard.thinking = "".join(part.text for part in item.summary)
                heard.signature = item.encrypted_content or ""
            elif item.type == "function_call":
                heard.calls.append((item.name, item.arguments))
        return heard

    def results(self, heard: Heard, *outputs: str) -> list[Any]:
        output = heard.reply.output
        items = [item.model_dump(mode="json", exclude_none=True, exclude={"parsed_arguments"}) for item in output]
        calls = [item for item in items if item["type"] == "function_call"]
        results = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": text}
            for call, text in zip(calls, outputs, strict=True)
        ]
        return [*items, *results]

    async def close(self) -> None:
        await self.sdk.close()


class GeminiClient(SdkClient):
    model = "gemini-3-pro-preview"

    def __init__(self, base_url: str, key: str, timeout: float) -> None:
        # With a transport of its own it speaks by httpx2, whatever else is installed.
        options = genai_types.HttpOptions(
            base_url=base_url,
            timeout=round(timeout * 1000),
            client_args={"verify": False},
            async_client_args={"transport": httpx2.AsyncHTTPTransport(verify=False)},
        )
        self.sdk: Any = genai.Client(api_key=key, http_options=options).aio

    async def ask(self, *history: Any, stream: bool, **options: Any) -> Heard:
        thinking = genai_types.ThinkingConfig(include_thoughts=True)
        config = genai_types.GenerateContentConfig(thinking_config=thinking, **options)
        contents: Any = [genai_types.UserContent("hi"), *history]
        asked: dict[str, Any] = {"model": self.model, "contents": contents, "config": config}
        if stream:
            answers: list[Any] = [answer async for answer in await self.sdk.models.generate_content_stream(**asked)]
        else:
            answers = [await self.sdk.models.generate_content(**asked)]
        heard = Heard(stop=answers[-1].candidates[0].finish_reason.value)
        parts = [part for answer in answers for part in answer.candidates[0].content.parts]
        for part in parts:
            if part.function_call:
                heard.calls.append((part.function_call.name, part.function_call.args))
            elif part.thought:
                heard.thinking += part.text
            else:
                heard.text += part.text
            if part.thought_signature:
                heard.signature = part.thought_signature.decode()
        usage = answers[-1].usage_metadata
        heard.usage = {
            "input": usage.prompt_token_count,
            "cached": usage.cached_content_token_count,
            "output": usage.candidates_token_count,
            "reasoning": usage.thoughts_token_count,
            "total": usage.total_token_count,
        }
        kept = [part for part in parts if part.text != "" or part.thought_signature]
        heard.reply = genai_types.ModelContent(kept)
        return heard

    def results(self, heard: Heard, *outputs: str) -> list[Any]:
        responses = [
            genai_types.Part.from_function_response(name=name, response={"output": output})
            for (name, _), output in zip(heard.calls, outputs, strict=True)
        ]
        return [heard.reply, genai_types.UserContent(responses)]

    async def close(self) -> None:
        await self.sdk.aclose()


CLIENTS: dict[str, type[AnthropicClient | ChatClient | ResponsesClient | GeminiClient]] = {
    "anthropic": AnthropicClient,
    "chat": ChatClient,
    "responses": ResponsesClient,
    "gemini": GeminiClient,
}


def connect(format_name: str, base_url: str, *, key: str = "key", timeout: float = 10) -> SdkClient:
    return CLIENTS[format_name](base_url, key, timeout)
