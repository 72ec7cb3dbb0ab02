"""Anthropic Messages."""

import re
from collections.abc import Mapping, Sequence
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
from openagent.providers.answer_check import Count, tokens, total
from openagent.providers.errors import Who, from_stream
from openagent.providers.http import Endpoint, HttpProvider
from openagent.providers.transcript import (
    Exchange,
    TranscriptEncoder,
    call_arguments,
    encode_json,
    foreign_thinking,
    parse_arguments,
    result_text,
    spoken,
)

ORIGIN = "anthropic"
_CACHED = {"type": "ephemeral"}

_BUDGETED = re.compile(r"claude-(3-7|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|@|$))")
"""Models that take a budget of thinking tokens; newer ones decide themselves, given an effort."""
_BUDGETS = {"low": 2048, "medium": 8192, "high": 24576}
_OUTPUT_LIMITS = ((re.compile(r"claude-3-(opus|haiku|sonnet)"), 4096), (re.compile(r"claude-3-5"), 8192))
_OUTPUT_LIMIT = 32_000


class AnthropicProvider(HttpProvider):
    wire_format = "anthropic"
    vendor_tools = True

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._base_url = self._base_url.removesuffix("/v1")
        self._messages = TranscriptEncoder(_encode_exchange, id_limit=64, tongue=self.tongue)

    def path(self, request: ModelRequest) -> str:
        return "/v1/messages"

    def encode(self, request: ModelRequest) -> bytes:
        thinking = _thinking(request)
        fixed: dict[str, Any] = {"model": request.model, "max_tokens": _max_tokens(request, thinking), "stream": True}
        fixed.update(thinking)
        if request.temperature is not None and thinking.get("thinking", {}).get("type") in (None, "disabled"):
            fixed["temperature"] = request.temperature
        # Marks the last block of the conversation without changing a byte of the messages from step to step.
        fixed["cache_control"] = _CACHED
        if request.tools:
            fixed["tools"] = list(map(_tool, request.tools))
        if request.system:
            # A second mark, where all sessions with the same tools and prompt agree.
            fixed["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
        return encode_json(fixed)[:-1] + b',"messages":[' + self._messages.encode(request) + b"]}"

    def reader(self, who: Who) -> "AnthropicReader":
        return AnthropicReader(who)

    async def models(self) -> list[ModelInfo]:
        listed = await self.get("/v1/models?limit=1000", _ModelList)
        return [ModelInfo(model.id, model.max_input_tokens or 0, model.max_tokens or 0) for model in listed.data]


class _Model(Struct):
    id: str
    max_input_tokens: int | None = None
    max_tokens: int | None = None


class _ModelList(Struct):
    data: list[_Model]


def _tool(tool: ToolSchema) -> dict[str, Any]:
    if isinstance(tool, OfferedTool) and tool.vendor_type:
        return {"type": tool.vendor_type, "name": tool.name}
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _thinking(request: ModelRequest) -> dict[str, Any]:
    if request.thinking is None:
        return {}
    if request.thinking == "off":
        return {"thinking": {"type": "disabled"}}
    if not _BUDGETED.match(request.model):
        return {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": request.thinking},
        }
    if _turn_began_elsewhere(request.messages):
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS.get(request.thinking, _BUDGETS["medium"])}}


def _turn_began_elsewhere(messages: Sequence[Message]) -> bool:
    """With a thinking budget, a turn in the middle of tool calls must have begun with thinking of Anthropic's own."""
    answers: list[Message] = []
    for message in reversed(messages):
        if message.role == "assistant":
            answers.append(message)
        elif message.role == "user" and answers:
            break
    if not answers or not answers[0].tool_calls:
        return False
    foreign = any(call.origin != ORIGIN for answer in answers for call in answer.tool_calls)
    first = answers[-1].parts[0] if answers[-1].parts else None
    return foreign or not (isinstance(first, ThinkingPart) and _is_own(first))


def _max_tokens(request: ModelRequest, thinking: Mapping[str, Any]) -> int:
    limit = request.max_output_tokens
    if limit is None:
        limit = next((limit for models, limit in _OUTPUT_LIMITS if models.match(request.model)), _OUTPUT_LIMIT)
    budget = thinking.get("thinking", {}).get("budget_tokens", 0)
    return limit if limit > budget else limit + budget


def _is_own(part: ThinkingPart) -> bool:
    return part.origin == ORIGIN and (part.signature is not None or part.redacted is not None)


def _encode_exchange(exchange: Exchange, model: str) -> Sequence[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if exchange.answer and (blocks := _answer_blocks(exchange.answer, exchange.wire_ids)):
        messages.append({"role": "assistant", "content": blocks})
    if exchange.results:
        results = [_result(result, exchange.wire_ids[result.call_id]) for result in exchange.results]
        messages.append({"role": "user", "content": results})
    messages.extend({"role": "user", "content": list(map(_said, spoken(said)))} for said in exchange.said)
    return messages


def _answer_blocks(message: Message, wire_ids: Mapping[str, str]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case ThinkingPart() if not _is_own(part):
                _add_text(blocks, foreign_thinking(part))
            case ThinkingPart(redacted=str(data)):
                blocks.append({"type": "redacted_thinking", "data": data})
            case ThinkingPart():
                blocks.append({"type": "thinking", "thinking": part.text, "signature": part.signature})
            case TextPart():
                _add_text(blocks, part.text)
            case ToolCallPart():
                call = {"id": wire_ids[part.id], "name": part.name, "input": call_arguments(part)}
                blocks.append({"type": "tool_use", **call})
            case _:
                pass
    return blocks


def _add_text(blocks: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        blocks.append({"type": "text", "text": text})


def _result(result: ToolResultPart, wire_id: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": result_text(result)}]
    content.extend(map(_said, result.images))
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id, "content": content}
    return {**block, "is_error": True} if result.is_error else block


def _said(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


class _Block(Struct):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    input: msgspec.Raw = msgspec.Raw()


class _Delta(Struct, gc=False):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _OutputDetails(Struct, gc=False):
    thinking_tokens: Count = None


class _Usage(Struct):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    output_tokens_details: _OutputDetails | None = None


class _Opening(Struct):
    model: str = ""
    usage: _Usage | None = None


class _Event(Struct):
    type: str
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Opening | None = None
    usage: _Usage | None = None


_decode_event = msgspec.json.Decoder(_Event).decode

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


class _PendingBlock:
    __slots__ = ("block", "pieces", "signature")

    def __init__(self, block: _Block) -> None:
        self.block = block
        self.pieces = [block.text or block.thinking]
        self.signature = block.signature

    def part(self) -> Part | None:
        block, whole = self.block, "".join(self.pieces)
        match block.type:
            case "text":
                return TextPart(whole) if whole else None
            case "thinking":
                return ThinkingPart(whole, signature=self.signature or None, origin=ORIGIN)
            case "redacted_thinking":
                return ThinkingPart("", redacted=block.data, origin=ORIGIN)
            case "tool_use":
                arguments, invalid = parse_arguments(whole or bytes(block.input).decode())
                return ToolCallPart(block.id, block.name, arguments, invalid, origin=ORIGIN)
            case _:
                return None


class AnthropicReader:
    def __init__(self, who: Who) -> None:
        self._who = who
        self.complete = False
        self.idle = 0
        self._blocks: dict[int, _PendingBlock] = {}
        self._model = who.model
        self._stop: str | None = None
        self._usage: _Usage | None = None

    def feed(self, event: bytes) -> Sequence[StreamItem]:
        decoded = _decode_event(event)
        if decoded.type == "content_block_delta" and decoded.delta is not None:
            return self._delta(self._blocks.get(decoded.index), decoded.delta)
        match decoded.type:
            case "content_block_start" if decoded.content_block is not None:
                return self._start(decoded.index, decoded.content_block)
            case "message_start" if decoded.message is not None:
                self._model = decoded.message.model or self._model
                self._count(decoded.message.usage)
            case "message_delta":
                self._stop = (decoded.delta and decoded.delta.stop_reason) or self._stop
                self._count(decoded.usage)
            case "message_stop":
                self.complete = True
            case "error":
                raise from_stream(self._who, event)
            case _:
                self.idle += 1
        return ()

    def whole(self, body: bytes) -> Sequence[bytes]:
        message = msgspec.json.decode(body, type=dict[str, Any])
        if message.get("type") != "message" or not isinstance(message.get("content"), list):
            return ()
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message | {"content": []}}]
        for index, block in enumerate(message["content"]):
            events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}})
        return [msgspec.json.encode(event) for event in (*events, {"type": "message_stop"})]

    def _start(self, index: int, block: _Block) -> Sequence[StreamItem]:
        self._blocks[index] = _PendingBlock(block)
        if block.type == "tool_use":
            return (CallChunk(block.id, block.name),)
        return (TextChunk(block.text),) if block.text else ()

    def _delta(self, pending: _PendingBlock | None, delta: _Delta) -> Sequence[StreamItem]:
        if pending is None:
            return ()
        if delta.text:
            pending.pieces.append(delta.text)
            return (TextChunk(delta.text),)
        if delta.thinking:
            pending.pieces.append(delta.thinking)
            return (ThinkingChunk(delta.thinking),)
        if delta.partial_json:
            pending.pieces.append(delta.partial_json)
        elif delta.signature:
            pending.signature += delta.signature
        return ()

    def _count(self, reported: _Usage | None) -> None:
        """Later reports are cumulative, and leave out what did not change."""
        if reported is None:
            return
        if self._usage is None:
            self._usage = reported
            return
        for field in reported.__struct_fields__:
            if (value := getattr(reported, field)) is not None:
                setattr(self._usage, field, value)

    def answer(self, raw_request: bytes, raw_response: bytes) -> Answer:
        parts = [part for index in sorted(self._blocks) if (part := self._blocks[index].part()) is not None]
        reason = _STOP_REASONS.get(self._stop or "end_turn", "end")
        if reason == "end" and any(isinstance(part, ToolCallPart) for part in parts):
            reason = "tool_calls"
        return Answer(parts, reason, _usage(self._usage), self._model, raw_request, raw_response)


def _usage(reported: _Usage | None) -> Usage:
    if reported is None:
        return Usage(estimated=True)
    cached, written = tokens(reported.cache_read_input_tokens), tokens(reported.cache_creation_input_tokens)
    details = reported.output_tokens_details
    return Usage(
        input_tokens=total(tokens(reported.input_tokens), cached, written),
        output_tokens=tokens(reported.output_tokens),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=tokens(details and details.thinking_tokens),
    )
