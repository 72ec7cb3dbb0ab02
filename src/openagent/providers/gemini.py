"""Gemini generateContent, at Google AI with a key and at Vertex AI with a token."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from openagent.plugins.provider import (
    Answer,
    CallChunk,
    MalformedAnswer,
    ModelInfo,
    ModelRequest,
    StreamItem,
    TextChunk,
    ThinkingChunk,
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
    result_text,
    spoken,
)

ORIGIN = "gemini"
_OWN_ID = "gemcall_"
"""Begins the ids we give to calls that came without one."""
_SIGNING = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that refuse a call of the running turn without its thought signature."""
_UNSIGNED = "skip_thought_signature_validator"
"""What Google documents for calls that another model made."""
_BUDGETS = {"low": 1024, "medium": 8192, "high": 24576}
_LEAST_PRO_BUDGET = 128


class GeminiProvider(HttpProvider):
    wire_format = "gemini"

    def __init__(self, endpoint: Endpoint, *, place: Callable[[], str] | None = None) -> None:
        """`place` is for Vertex: the part of the path that names project and location."""
        super().__init__(endpoint)
        self._base_url = self._base_url.removesuffix("/v1beta")
        self._place = place
        self._contents = TranscriptEncoder(_encode_exchange, id_limit=64, tongue=self.tongue)

    def path(self, request: ModelRequest) -> str:
        prefix = f"/v1/{self._place()}/publishers/google" if self._place else "/v1beta"
        return f"{prefix}/models/{request.model}:streamGenerateContent?alt=sse"

    def encode(self, request: ModelRequest) -> bytes:
        fixed: dict[str, Any] = {}
        if request.system:
            fixed["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            declarations = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
                for tool in request.tools
            ]
            fixed["tools"] = [{"functionDeclarations": declarations}]
        if options := _options(request):
            fixed["generationConfig"] = options
        beginning = encode_json(fixed)[:-1] + b"," if fixed else b"{"
        return beginning + b'"contents":[' + self._contents.encode(request) + b"]}"

    def reader(self, who: Who) -> "GeminiReader":
        return GeminiReader(who)

    async def models(self) -> list[ModelInfo]:
        prefix = "/v1beta1/publishers/google" if self._place else "/v1beta"
        listed = await self.get(f"{prefix}/models?pageSize=1000", _ModelList)
        return [
            ModelInfo(model.name.rsplit("/", 1)[-1], model.inputTokenLimit, model.outputTokenLimit)
            for model in (listed.models or listed.publisherModels)
        ]


class _Model(Struct):
    name: str
    inputTokenLimit: int = 0  # noqa: N815
    outputTokenLimit: int = 0  # noqa: N815


class _ModelList(Struct):
    models: list[_Model] = []
    publisherModels: list[_Model] = []  # noqa: N815


def _options(request: ModelRequest) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if request.max_output_tokens is not None:
        options["maxOutputTokens"] = request.max_output_tokens
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.thinking == "off":
        options["thinkingConfig"] = _least_thinking(request.model)
    elif request.thinking is not None:
        level: dict[str, Any] = {"thinkingLevel": request.thinking.upper()}
        if not _SIGNING.match(request.model):
            level = {"thinkingBudget": _BUDGETS.get(request.thinking, -1)}
        options["thinkingConfig"] = {"includeThoughts": True, **level}
    return options


def _least_thinking(model: str) -> dict[str, Any]:
    if _SIGNING.match(model):
        return {"thinkingLevel": "LOW"}
    return {"thinkingBudget": _LEAST_PRO_BUDGET if "pro" in model else 0}


def _encode_exchange(exchange: Exchange, model: str) -> Sequence[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    calls: list[ToolCallPart] = exchange.answer.tool_calls if exchange.answer else []
    if exchange.answer and (parts := _answer_parts(exchange.answer, signing=bool(_SIGNING.match(model)))):
        contents.append({"role": "model", "parts": parts})
    if exchange.results:
        responses = [_response(call, result) for call, result in zip(calls, exchange.results, strict=True)]
        contents.append({"role": "user", "parts": responses})
        images = [part for result in exchange.results for part in _result_images(result)]
        if images:
            contents.append({"role": "user", "parts": images})
    contents.extend({"role": "user", "parts": list(map(_said, spoken(said)))} for said in exchange.said)
    return contents


def _answer_parts(message: Message, *, signing: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    unsigned = signing
    for part in message.parts:
        match part:
            case ThinkingPart() if part.origin == ORIGIN:
                parts.extend(_own_thought(part))
            case ThinkingPart():
                _add_text(parts, foreign_thinking(part))
            case TextPart():
                _add_text(parts, part.text)
            case ToolCallPart():
                signature = part.signature if part.origin == ORIGIN else None
                parts.append(_signed(_call(part), signature or (_UNSIGNED if unsigned else None)))
                unsigned = False
            case _:
                pass
    return parts


def _own_thought(part: ThinkingPart) -> Sequence[dict[str, Any]]:
    if part.text:
        return (_signed({"text": part.text, "thought": True}, part.signature),)
    return (_signed({"text": ""}, part.signature),) if part.signature else ()


def _signed(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    return {**part, "thoughtSignature": signature} if signature else part


def _add_text(parts: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        parts.append({"text": text})


def _wire_id(call: ToolCallPart) -> Mapping[str, str]:
    """Google matches calls and responses by their order; only its own ids mean anything to it."""
    return {"id": call.id} if call.origin == ORIGIN and not call.id.startswith(_OWN_ID) else {}


def _call(call: ToolCallPart) -> dict[str, Any]:
    return {"functionCall": {**_wire_id(call), "name": call.name, "args": call_arguments(call)}}


def _response(call: ToolCallPart, result: ToolResultPart) -> dict[str, Any]:
    response = {"error" if result.is_error else "output": result_text(result)}
    return {"functionResponse": {**_wire_id(call), "name": call.name, "response": response}}


def _result_images(result: ToolResultPart) -> Sequence[dict[str, Any]]:
    if not result.images:
        return ()
    return ({"text": f"Images in the result of {result.name}:"}, *map(_said, result.images))


def _said(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


class _FunctionCall(Struct):
    name: str = ""
    args: dict[str, Any] | None = None
    id: str | None = None


class _Piece(Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct):
    parts: list[_Piece] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _UsageMetadata(Struct, rename="camel"):
    prompt_token_count: Count = None
    tool_use_prompt_token_count: Count = None
    candidates_token_count: Count = None
    thoughts_token_count: Count = None
    cached_content_token_count: Count = None


class _Feedback(Struct, rename="camel"):
    block_reason: str | None = None


class _Chunk(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _UsageMetadata | None = None
    prompt_feedback: _Feedback | None = None
    model_version: str | None = None
    error: msgspec.Raw = msgspec.Raw()


_decode_chunk = msgspec.json.Decoder(_Chunk).decode

_STOP_REASONS: dict[str, StopReason] = {"STOP": "end", "MAX_TOKENS": "max_tokens"}
_BROKEN_CALL = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE")


class _Run:
    """Neighbouring pieces of one kind: together they are one part."""

    __slots__ = ("pieces", "signature", "thought")

    def __init__(self, thought: bool) -> None:
        self.thought = thought
        self.pieces: list[str] = []
        self.signature: str | None = None

    def parts(self) -> Sequence[Part]:
        text = "".join(self.pieces)
        if self.thought:
            return (ThinkingPart(text, signature=self.signature, origin=ORIGIN),)
        # Text may be signed too; the signature goes back as an empty part of its own, which is how it often comes.
        signed = (ThinkingPart("", signature=self.signature, origin=ORIGIN),) if self.signature else ()
        return (TextPart(text), *signed) if text else signed


class GeminiReader:
    def __init__(self, who: Who) -> None:
        self._who = who
        self.complete = False
        self.idle = 0
        self._runs: list[_Run | ToolCallPart] = []
        self._finish: str | None = None
        self._blocked = False
        self._usage: _UsageMetadata | None = None
        self._model = who.model

    def feed(self, event: bytes) -> Sequence[StreamItem]:
        chunk = _decode_chunk(event)
        if chunk.error and bytes(chunk.error) != b"null":
            raise from_stream(self._who, chunk.error)
        if chunk.usage_metadata is not None:
            self._usage = chunk.usage_metadata
        if not chunk.candidates:
            if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
                self._blocked = self.complete = True
            self.idle += 1
            return ()
        candidate = chunk.candidates[0]
        if candidate.finish_reason:
            self._end(candidate, chunk.model_version)
        if candidate.content is None or not candidate.content.parts:
            return ()
        return [item for piece in candidate.content.parts if (item := self._piece(piece)) is not None]

    def whole(self, body: bytes) -> Sequence[bytes]:
        """One, or a list of them: that is how it streams to who did not ask for events."""
        if not body.lstrip().startswith(b"["):
            return (body,)
        return [bytes(chunk) for chunk in msgspec.json.decode(body, type=list[msgspec.Raw])]

    def _end(self, candidate: _Candidate, model: str | None) -> None:
        if candidate.finish_reason in _BROKEN_CALL:
            raise MalformedAnswer(
                f"{self._who.name} wrote a tool call that it could not complete itself: {candidate.finish_reason}.",
                hint="Try again.",
            )
        self._finish = candidate.finish_reason
        self._model = model or self._model
        self.complete = True

    def _piece(self, piece: _Piece) -> StreamItem | None:
        if piece.function_call is not None:
            return self._call(piece.function_call, piece.thought_signature)
        run = self._run(piece.thought)
        if piece.thought_signature:
            run.signature = piece.thought_signature
        if not piece.text:
            return None
        run.pieces.append(piece.text)
        return ThinkingChunk(piece.text) if piece.thought else TextChunk(piece.text)

    def _run(self, thought: bool) -> _Run:
        last = self._runs[-1] if self._runs else None
        if isinstance(last, _Run) and last.thought == thought:
            return last
        run = _Run(thought)
        self._runs.append(run)
        return run

    def _call(self, call: _FunctionCall, signature: str | None) -> CallChunk:
        call_id = call.id or f"{_OWN_ID}{uuid.uuid4().hex[:24]}"
        self._runs.append(ToolCallPart(call_id, call.name, call.args or {}, signature=signature, origin=ORIGIN))
        return CallChunk(call_id, call.name)

    def answer(self, raw_request: bytes, raw_response: bytes) -> Answer:
        parts: list[Part] = []
        for run in self._runs:
            parts.extend((run,) if isinstance(run, ToolCallPart) else run.parts())
        return Answer(parts, self._stop_reason(parts), _usage(self._usage), self._model, raw_request, raw_response)

    def _stop_reason(self, parts: Sequence[Part]) -> StopReason:
        if self._blocked:
            return "refusal"
        reason = _STOP_REASONS.get(self._finish or "STOP", "refusal")
        return "tool_calls" if reason == "end" and any(isinstance(part, ToolCallPart) for part in parts) else reason


def _usage(reported: _UsageMetadata | None) -> Usage:
    if reported is None:
        return Usage(estimated=True)
    thought = tokens(reported.thoughts_token_count)
    return Usage(
        input_tokens=total(tokens(reported.prompt_token_count), tokens(reported.tool_use_prompt_token_count)),
        output_tokens=total(tokens(reported.candidates_token_count), thought),
        cached_tokens=tokens(reported.cached_content_token_count),
        reasoning_tokens=thought,
    )
