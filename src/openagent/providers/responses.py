"""OpenAI Responses, without anything stored on the server: reasoning travels back and forth in encrypted form."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec
from msgspec import Struct

from openagent.dialects.dialect import OfferedTool
from openagent.plugins.provider import (
    Answer,
    CallChunk,
    ModelInfo,
    ModelRequest,
    StreamItem,
    TextChunk,
    ThinkingChunk,
    ToolSchema,
)
from openagent.protocol.messages import (
    ImagePart,
    Message,
    Part,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from openagent.protocol.usage import Usage
from openagent.providers.answer_check import Count, tokens
from openagent.providers.errors import Who, from_stream
from openagent.providers.http import Endpoint, HttpProvider
from openagent.providers.openai_models import always_reasons, may_reason, reasoning_effort
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
ORIGIN = "openai-responses"
_LEAST_OUTPUT_TOKENS = 16
TEXT_KEY = "input"
"""Under which the text of a call that has no arguments is understood."""


class ResponsesProvider(HttpProvider):
    wire_format = "openai-responses"
    text_tools = True

    def __init__(self, endpoint: Endpoint, *, prefix: str = "", query: str = "") -> None:
        """`prefix` and `query` are for Azure."""
        super().__init__(endpoint)
        self._prefix = prefix
        self._query = query
        self._input = TranscriptEncoder(self._encode_exchange, id_limit=64, tongue=self.tongue)

    def path(self, request: ModelRequest) -> str:
        return f"{self._prefix}/responses{self._query}"

    def encode(self, request: ModelRequest) -> bytes:
        fixed: dict[str, Any] = {"model": request.model, "stream": True, "store": False}
        if may_reason(request.model):
            fixed["include"] = ["reasoning.encrypted_content"]
        if effort := reasoning_effort(request):
            fixed["reasoning"] = {"effort": effort, "summary": "auto"}
        if request.max_output_tokens is not None:
            fixed["max_output_tokens"] = max(request.max_output_tokens, _LEAST_OUTPUT_TOKENS)
        if request.temperature is not None and not always_reasons(request.model):
            fixed["temperature"] = request.temperature
        if request.session:
            fixed["prompt_cache_key"] = request.session
        if request.system:
            fixed["instructions"] = request.system
        if request.tools:
            fixed["tools"] = list(map(_tool, request.tools))
        return encode_json(fixed)[:-1] + b',"input":[' + self._input.encode(request) + b"]}"

    def _encode_exchange(self, exchange: Exchange, model: str) -> Sequence[dict[str, Any]]:
        text_tools = self.tongue(model).text_tools
        texts = (
            {call.id: _text_given(call, text_tools) for call in exchange.answer.tool_calls} if exchange.answer else {}
        )
        items = _answer_items(exchange.answer, exchange.wire_ids, texts) if exchange.answer else []
        for result in exchange.results:
            kind = "function_call_output" if texts[result.call_id] is None else "custom_tool_call_output"
            items.append({"type": kind, "call_id": exchange.wire_ids[result.call_id], "output": _output(result)})
        items.extend({"role": "user", "content": list(map(_said, spoken(said)))} for said in exchange.said)
        return items

    def reader(self, who: Who) -> "ResponsesReader":
        return ResponsesReader(who)

    async def models(self) -> list[ModelInfo]:
        listed = await self.get(f"{self._prefix}/models{self._query}", _ModelList)
        return [ModelInfo(name=model.id) for model in listed.data]


class _Model(Struct):
    id: str


class _ModelList(Struct):
    data: list[_Model]


def _tool(tool: ToolSchema) -> dict[str, Any]:
    if isinstance(tool, OfferedTool) and tool.grammar:
        form = {"type": "grammar", "syntax": "lark", "definition": tool.grammar}
        return {"type": "custom", "name": tool.name, "description": tool.description, "format": form}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _text_given(call: ToolCallPart, text_tools: Set[str]) -> str | None:
    """The text that a call gives to a tool that takes plain text; None: it gives arguments."""
    if call.name not in text_tools or call.invalid_arguments is not None or len(call.arguments) != 1:
        return None
    (text,) = call.arguments.values()
    return text if isinstance(text, str) else None


def _answer_items(
    message: Message, wire_ids: Mapping[str, str], texts: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for position, part in enumerate(message.parts):
        match part:
            case ThinkingPart() if part.origin == ORIGIN and part.redacted and _is_followed(message.parts, position):
                items.append(_reasoning(part))
            case ThinkingPart():
                _add_text(items, foreign_thinking(part))
            case TextPart():
                _add_text(items, part.text)
            case ToolCallPart() if (text := texts[part.id]) is not None:
                call = {"call_id": wire_ids[part.id], "name": part.name, "input": text}
                items.append({"type": "custom_tool_call", **call})
            case ToolCallPart():
                arguments = encode_json(call_arguments(part)).decode()
                call = {"call_id": wire_ids[part.id], "name": part.name, "arguments": arguments}
                items.append({"type": "function_call", **call})
            case _:
                pass
    return items


def _is_followed(parts: Sequence[Part], position: int) -> bool:
    """Reasoning is refused unless what it led to comes right after it."""
    return any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.text.strip())
        for part in parts[position + 1 :]
    )


def _reasoning(part: ThinkingPart) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "reasoning"}
    if part.id:
        item["id"] = part.id
    item["summary"] = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {**item, "encrypted_content": part.redacted}


def _add_text(items: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        content = [{"type": "output_text", "text": text}]
        items.append({"type": "message", "role": "assistant", "content": content})


def _output(result: ToolResultPart) -> str | list[dict[str, Any]]:
    text = result_text(result)
    return [{"type": "input_text", "text": text}, *map(_said, result.images)] if result.images else text


def _said(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "image_url": data_url(part)}


class _Content(Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(Struct):
    type: str = ""
    id: str | None = None
    content: list[_Content] | None = None
    summary: list[_Content] | None = None
    encrypted_content: str | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    input: str = ""

    @property
    def text(self) -> str:
        return "".join(piece.text or piece.refusal or "" for piece in self.content or ())

    @property
    def thought(self) -> str:
        return "\n\n".join(piece.text or "" for piece in self.summary or ()) or self.text


class _InputDetails(Struct, gc=False):
    cached_tokens: Count = None
    cache_write_tokens: Count = None


class _OutputDetails(Struct, gc=False):
    reasoning_tokens: Count = None


class _Usage(Struct):
    input_tokens: Count = None
    output_tokens: Count = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _IncompleteDetails(Struct):
    reason: str | None = None


class _Response(Struct):
    model: str = ""
    usage: _Usage | None = None
    incomplete_details: _IncompleteDetails | None = None
    error: msgspec.Raw = msgspec.Raw()


class _Event(Struct):
    type: str
    delta: str | None = None
    output_index: int = 0
    summary_index: int = 0
    item: _Item | None = None


class _ClosingEvent(Struct):
    response: _Response


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_closing = msgspec.json.Decoder(_ClosingEvent).decode
_THINKING_DELTAS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_CLOSING = ("response.completed", "response.incomplete", "response.failed", "error")


class ResponsesReader:
    def __init__(self, who: Who) -> None:
        self._who = who
        self.complete = False
        self.idle = 0
        self._items: dict[int, _Item] = {}
        self._response = _Response()
        self._refused = False
        self._summary = 0

    def feed(self, event: bytes) -> Sequence[StreamItem]:
        if len(event) < _SHORT and event.strip() == b"[DONE]":
            return ()
        decoded = _decode_event(event)
        kind = decoded.type
        if kind in _TEXT_DELTAS:
            self._refused = self._refused or kind == "response.refusal.delta"
            return (TextChunk(decoded.delta),) if decoded.delta else ()
        if kind in _THINKING_DELTAS:
            return self._thinking(decoded)
        if kind in _CLOSING:
            self._close(kind, event)
        elif decoded.item is not None:
            return self._item(kind, decoded.output_index, decoded.item)
        elif not decoded.delta:
            self.idle += 1
        return ()

    def whole(self, body: bytes) -> Sequence[bytes]:
        response = msgspec.json.decode(body, type=dict[str, Any])
        if response.get("object") != "response":
            return ()
        done = [
            {"type": "response.output_item.done", "output_index": index, "item": item}
            for index, item in enumerate(response.get("output") or ())
        ]
        status = response.get("status")
        ended = status if status in ("failed", "incomplete") else "completed"
        end = {"type": f"response.{ended}", "response": response}
        return [msgspec.json.encode(event) for event in (*done, end)]

    def _item(self, kind: str, index: int, item: _Item) -> Sequence[StreamItem]:
        if kind == "response.output_item.done":
            self._items[index] = item
        elif kind == "response.output_item.added" and item.type in ("function_call", "custom_tool_call"):
            return (CallChunk(item.call_id, item.name),)
        return ()

    def _thinking(self, decoded: _Event) -> Sequence[StreamItem]:
        """Summaries come in numbered sections, which are paragraphs to a reader."""
        if not decoded.delta:
            return ()
        gap = "\n\n" if decoded.summary_index > self._summary else ""
        self._summary = decoded.summary_index
        return (ThinkingChunk(gap + decoded.delta),)

    def _close(self, kind: str, event: bytes) -> None:
        if kind == "error":
            raise from_stream(self._who, event)
        self._response = _decode_closing(event).response
        if kind == "response.failed":
            raise from_stream(self._who, self._response.error or event)
        self.complete = True

    def answer(self, raw_request: bytes, raw_response: bytes) -> Answer:
        parts = [part for index in sorted(self._items) if (part := _part(self._items[index])) is not None]
        model = self._response.model or self._who.model
        return Answer(parts, self._stop_reason(parts), _usage(self._response.usage), model, raw_request, raw_response)

    def _stop_reason(self, parts: Sequence[Part]) -> StopReason:
        if details := self._response.incomplete_details:
            return "refusal" if details.reason == "content_filter" else "max_tokens"
        if any(isinstance(part, ToolCallPart) for part in parts):
            return "tool_calls"
        return "refusal" if self._refused else "end"


def _part(item: _Item) -> Part | None:
    match item.type:
        case "message":
            return TextPart(item.text) if item.text else None
        case "reasoning":
            return ThinkingPart(item.thought, redacted=item.encrypted_content, id=item.id, origin=ORIGIN)
        case "function_call":
            arguments, invalid = parse_arguments(item.arguments)
            return ToolCallPart(item.call_id, item.name, arguments, invalid, origin=ORIGIN)
        case "custom_tool_call":
            return ToolCallPart(item.call_id, item.name, {TEXT_KEY: item.input}, origin=ORIGIN)
        case _:
            return None


def _usage(reported: _Usage | None) -> Usage:
    if reported is None:
        return Usage(estimated=True)
    inputs, outputs = reported.input_tokens_details, reported.output_tokens_details
    return Usage(
        input_tokens=tokens(reported.input_tokens),
        output_tokens=tokens(reported.output_tokens),
        cached_tokens=tokens(inputs and inputs.cached_tokens),
        cache_write_tokens=tokens(inputs and inputs.cache_write_tokens),
        reasoning_tokens=tokens(outputs and outputs.reasoning_tokens),
    )
