"""OpenAI Chat Completions: spoken by OpenAI, and by nearly everything that calls itself compatible."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from openagent.plugins.provider import (
    Answer,
    CallChunk,
    ModelInfo,
    ModelRequest,
    StreamItem,
    TextChunk,
    ThinkingChunk,
)
from openagent.protocol.messages import ImagePart, Message, Part, StopReason, TextPart, ThinkingPart, ToolCallPart
from openagent.protocol.usage import Usage
from openagent.providers.answer_check import Count, tokens
from openagent.providers.errors import Who, from_stream
from openagent.providers.http import Endpoint, HttpProvider
from openagent.providers.openai_models import always_reasons, reasoning_effort
from openagent.providers.served_models import served_models
from openagent.providers.transcript import (
    Exchange,
    TranscriptEncoder,
    call_arguments,
    data_url,
    encode_json,
    foreign_thinking,
    parse_arguments,
    result_text,
    spoken,
)

_SHORT = 12
ORIGIN = "openai-chat"


class ChatProvider(HttpProvider):
    wire_format = "openai-chat"

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        echo_reasoning: bool = False,
        legacy_max_tokens: bool = False,
        query: str = "",
        deployment_paths: bool = False,
    ) -> None:
        """`echo_reasoning` sends reasoning back in the field it came in: only servers with such a field accept it.
        `legacy_max_tokens` uses the older name of the output limit, which is the one compatible servers know.
        `query` and `deployment_paths` are for Azure."""
        super().__init__(endpoint)
        self._legacy_max_tokens = legacy_max_tokens
        self._query = query
        self._deployment_paths = deployment_paths
        self._messages = TranscriptEncoder(_MessageEncoder(echo_reasoning).encode, id_limit=40, tongue=self.tongue)

    def path(self, request: ModelRequest) -> str:
        if self._deployment_paths:
            return f"/openai/deployments/{request.model}/chat/completions{self._query}"
        return f"/chat/completions{self._query}"

    def encode(self, request: ModelRequest) -> bytes:
        fixed: dict[str, Any] = {"model": request.model, "stream": True, "stream_options": {"include_usage": True}}
        if request.max_output_tokens is not None:
            legacy = self._legacy_max_tokens and not always_reasons(request.model)
            fixed["max_tokens" if legacy else "max_completion_tokens"] = request.max_output_tokens
        if request.temperature is not None and not always_reasons(request.model):
            fixed["temperature"] = request.temperature
        if effort := reasoning_effort(request):
            fixed["reasoning_effort"] = effort
        if request.tools:
            fixed["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        system = encode_json({"role": "system", "content": request.system}) if request.system else b""
        messages = b",".join(filter(None, (system, self._messages.encode(request))))
        return encode_json(fixed)[:-1] + b',"messages":[' + messages + b"]}"

    def reader(self, who: Who) -> "ChatReader":
        return ChatReader(who)

    async def models(self) -> list[ModelInfo]:
        return await served_models(self, self._query)

    async def describe(self, model: str) -> ModelInfo | None:
        """What the server says of one model it serves; None: it does not list it."""
        found = await served_models(self, self._query, only=model)
        return next((each for each in found if each.name == model), found[0] if len(found) == 1 else None)


class _MessageEncoder:
    def __init__(self, echo_reasoning: bool) -> None:
        self._echo_reasoning = echo_reasoning

    def encode(self, exchange: Exchange, model: str) -> Sequence[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        if exchange.answer and (answer := self._answer(exchange.answer, exchange.wire_ids)):
            messages.append(answer)
        images: list[dict[str, Any]] = []
        for result in exchange.results:
            messages.append(
                {
                    "role": "tool",
                    "tool_call_id": exchange.wire_ids[result.call_id],
                    "content": result_text(result),
                }
            )
            if result.images:
                images.append({"type": "text", "text": f"Images in the result of {result.name}:"})
                images.extend(map(_image, result.images))
        if images:
            messages.append({"role": "user", "content": images})
        messages.extend(map(_user, exchange.said))
        return messages

    def _answer(self, message: Message, wire_ids: Mapping[str, str]) -> dict[str, Any] | None:
        text = ""
        reasoning = ""
        calls: list[dict[str, Any]] = []
        for part in message.parts:
            match part:
                case TextPart():
                    text += part.text
                case ThinkingPart() if self._echo_reasoning and part.origin == ORIGIN:
                    reasoning += part.text
                case ThinkingPart():
                    text += foreign_thinking(part)
                case ToolCallPart():
                    calls.append(_call(part, wire_ids[part.id]))
                case _:
                    pass
        encoded: dict[str, Any] = {"role": "assistant"}
        if text or not calls:
            encoded["content"] = text
        if reasoning:
            encoded["reasoning_content"] = reasoning
        if calls:
            encoded["tool_calls"] = calls
        return encoded if text.strip() or calls else None


def _call(part: ToolCallPart, wire_id: str) -> dict[str, Any]:
    arguments = encode_json(call_arguments(part)).decode()
    return {
        "id": wire_id,
        "type": "function",
        "function": {"name": part.name, "arguments": arguments},
    }


def _user(message: Message) -> dict[str, Any]:
    parts = spoken(message)
    if not any(isinstance(part, ImagePart) for part in parts):
        return {"role": "user", "content": "".join(part.text for part in parts if isinstance(part, TextPart))}
    content = [_image(part) if isinstance(part, ImagePart) else {"type": "text", "text": part.text} for part in parts]
    return {"role": "user", "content": content}


def _image(image: ImagePart) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(image)}}


class _FunctionDelta(Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: _FunctionDelta | None = None


class _Delta(Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    """All of it, where no stream came."""
    finish_reason: str | None = None


class _InputDetails(Struct, gc=False):
    cached_tokens: Count = None


class _OutputDetails(Struct, gc=False):
    reasoning_tokens: Count = None


class _Usage(Struct):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: msgspec.Raw = msgspec.Raw()


_decode_chunk = msgspec.json.Decoder(_Chunk).decode

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}


class _PendingCall:
    __slots__ = ("arguments", "id", "name")

    def __init__(self, call_id: str, name: str) -> None:
        self.id = call_id
        self.name = name
        self.arguments: list[str] = []


class ChatReader:
    def __init__(self, who: Who) -> None:
        self._who = who
        self.complete = False
        self.idle = 0
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[int, _PendingCall] = {}
        self._finish: str | None = None
        self._refused = False
        self._usage: _Usage | None = None
        self._model = who.model

    def feed(self, event: bytes) -> Sequence[StreamItem]:
        if len(event) < _SHORT and event.strip() == b"[DONE]":
            self.complete = True
            return ()
        chunk = _decode_chunk(event)
        if chunk.error and bytes(chunk.error) != b"null":
            raise from_stream(self._who, chunk.error)
        if chunk.usage is not None:
            self._usage = chunk.usage
        if not chunk.choices:
            self.idle += 1
            return ()
        choice = chunk.choices[0]
        if choice.finish_reason:
            self._finish = choice.finish_reason
            self._model = chunk.model or self._model
            self.complete = True
        delta = choice.delta or choice.message
        if delta is None:
            self.idle += 1
            return ()
        if delta.content and not delta.tool_calls:
            self._text.append(delta.content)
            return (TextChunk(delta.content),)
        return self._rare(delta)

    def whole(self, body: bytes) -> Sequence[bytes]:
        return (body,)

    def _rare(self, delta: _Delta) -> Sequence[StreamItem]:
        items: list[StreamItem] = []
        self.idle += not (delta.reasoning_content or delta.reasoning or delta.refusal or delta.tool_calls)
        if thinking := delta.reasoning_content or delta.reasoning:
            self._thinking.append(thinking)
            items.append(ThinkingChunk(thinking))
        if text := delta.content or delta.refusal:
            self._refused = self._refused or bool(delta.refusal)
            self._text.append(text)
            items.append(TextChunk(text))
        items.extend(started for call in delta.tool_calls or () if (started := self._feed_call(call)))
        return items

    def _feed_call(self, delta: _CallDelta) -> CallChunk | None:
        function = delta.function or _FunctionDelta()
        index = self._index(delta, function)
        pending = self._calls.get(index)
        started = None
        if pending is None:
            pending = _PendingCall(self._new_id(delta.id), function.name or "")
            self._calls[index] = pending
            started = CallChunk(pending.id, pending.name)
        elif function.name and not pending.name:
            pending.name = function.name
        if function.arguments:
            pending.arguments.append(function.arguments)
        return started

    def _new_id(self, given: str | None) -> str:
        """Some servers give no id, or the same one to every call."""
        if given and all(pending.id != given for pending in self._calls.values()):
            return given
        return f"call_{uuid.uuid4().hex[:24]}"

    def _index(self, delta: _CallDelta, function: _FunctionDelta) -> int:
        """Some servers give no index: a name then starts the next call, anything else continues the last one."""
        if delta.index is not None:
            return delta.index
        return len(self._calls) if function.name or not self._calls else len(self._calls) - 1

    def answer(self, raw_request: bytes, raw_response: bytes) -> Answer:
        parts: list[Part] = []
        if self._thinking:
            parts.append(ThinkingPart("".join(self._thinking), origin=ORIGIN))
        if self._text:
            parts.append(TextPart("".join(self._text)))
        for pending in self._calls.values():
            arguments, invalid = parse_arguments("".join(pending.arguments))
            parts.append(ToolCallPart(pending.id, pending.name, arguments, invalid, origin=ORIGIN))
        return Answer(parts, self._stop_reason(), _usage(self._usage), self._model, raw_request, raw_response)

    def _stop_reason(self) -> StopReason:
        reason = _STOP_REASONS.get(self._finish or "stop", "end")
        if reason == "end" and self._calls:
            return "tool_calls"
        return "refusal" if reason == "end" and self._refused else reason


def _usage(reported: _Usage | None) -> Usage:
    if reported is None:
        return Usage(estimated=True)
    inputs, outputs = reported.prompt_tokens_details, reported.completion_tokens_details
    return Usage(
        input_tokens=tokens(reported.prompt_tokens),
        output_tokens=tokens(reported.completion_tokens),
        cached_tokens=tokens(inputs and inputs.cached_tokens),
        reasoning_tokens=tokens(outputs and outputs.reasoning_tokens),
    )
