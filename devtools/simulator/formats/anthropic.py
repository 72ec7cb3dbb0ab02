"""Anthropic Messages."""

from collections.abc import Iterator
from typing import Any

from devtools.simulator import marks
from devtools.simulator.inquiry import Entry, Inquiry, inquire
from devtools.simulator.problems import Kind, Problem
from devtools.simulator.referee import anthropic as referee
from devtools.simulator.reply import Call as ToolCall
from devtools.simulator.reply import Reply
from devtools.simulator.wire import Call, ErrorAnswer, Event, Json, arr, joined_text, obj, sse, string

_STOP_REASONS = {"end": "end_turn", "pause": "pause_turn", "content_filter": "refusal"}

_ERRORS: dict[Kind, tuple[int, str, str]] = {
    "invalid_request": (400, "invalid_request_error", "Invalid request."),
    "unauthorized": (401, "authentication_error", "invalid x-api-key"),
    "forbidden": (
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
    ),
    "not_found": (404, "not_found_error", "model: {model}"),
    "method_not_allowed": (405, "invalid_request_error", "Method Not Allowed"),
    "too_large": (413, "request_too_large", "Request exceeds the maximum size"),
    "rate_limit": (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute (model: {model}). "
        "For details, refer to: https://docs.claude.com/en/api/rate-limits.",
    ),
    "quota": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits.",
    ),
    "server_error": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "context_too_long": (400, "invalid_request_error", "prompt is too long: 215412 tokens > 200000 maximum"),
}


class AnthropicMessages:
    name = "anthropic"

    def media_type(self, call: Call) -> str:
        return "text/event-stream; charset=utf-8"

    def inquire(self, call: Call) -> Inquiry:
        stream = call.body.get("stream") is True
        return inquire(string(call.body.get("model")), stream, _entries(call.body), len(call.raw_body))

    def referee(self, call: Call) -> None:
        counting = call.path.endswith("/count_tokens")
        referee.check(call.body, call.headers, counting=counting, own_signatures=call.script.signatures)

    def whole(self, reply: Reply, call: Call) -> Json:
        content = [block for block, _ in _blocks(reply, call)]
        usage = {**_input_usage(reply), **_output_usage(reply, call), "service_tier": "standard"}
        return {**_message(reply), "content": content, **_stop(reply, call), "usage": usage}

    def events(self, reply: Reply, call: Call) -> list[Event]:
        opening = {"output_tokens": 1, "service_tier": "standard"}
        usage = {**_input_usage(reply), **opening}
        message: Json = {
            **_message(reply),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        events = [_event("message_start", message=message)]
        for index, (block, deltas) in enumerate(_blocks(reply, call)):
            events.append(_event("content_block_start", index=index, content_block=_opened(block)))
            if index == 0:
                events.append(_event("ping"))
            for delta in deltas:
                carries = delta["type"] != "signature_delta" and delta.get("partial_json") != ""
                events.append(_event("content_block_delta", content=carries, index=index, delta=delta))
            events.append(_event("content_block_stop", index=index))
        counted = {**_input_usage(reply), **_output_usage(reply, call)}
        counted.pop("cache_creation")
        events.append(_event("message_delta", delta=_stop(reply, call), usage=counted))
        events.append(_event("message_stop"))
        return events

    def count(self, tokens: int, call: Call) -> Json:
        return {"input_tokens": tokens}

    def models(self, names: list[str], call: Call) -> Json:
        entries = [self.model(name, call) for name in names]
        return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def model(self, name: str, call: Call) -> Json:
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2025-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": 200_000,
            "max_tokens": 64_000,
        }

    def headers(self, call: Call) -> dict[str, str]:
        return {
            "request-id": _request_id(call),
            "anthropic-organization-id": "00000000-0000-4000-8000-000000000000",
            "anthropic-ratelimit-requests-limit": "4000",
            "anthropic-ratelimit-requests-remaining": "3999",
            "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:01Z",
            "anthropic-ratelimit-tokens-limit": "480000",
            "anthropic-ratelimit-tokens-remaining": "479000",
            "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:01Z",
        }

    def error(self, problem: Problem, call: Call) -> ErrorAnswer:
        status, kind, usual = _ERRORS[problem.kind]
        message = problem.message or usual.format(model=string(call.body.get("model")))
        headers = self.headers(call)
        if problem.retry_after is not None:
            headers["retry-after"] = f"{problem.retry_after:g}"
        if problem.kind in ("rate_limit", "server_error", "overloaded"):
            headers["x-should-retry"] = "true"
        error = {"type": kind, "message": message}
        return ErrorAnswer(
            problem.status or status,
            headers,
            {"type": "error", "error": error, "request_id": _request_id(call)},
        )

    def error_event(self, problem: Problem, reply: Reply, call: Call, sequence: int) -> bytes:
        return sse(self.error(problem, call).body, "error")


def _entries(body: Json) -> Iterator[Entry]:
    yield Entry("system", joined_text(body.get("system")))
    for message in map(obj, arr(body.get("messages"))):
        content = message.get("content")
        blocks = [obj(block) for block in arr(content)]
        if message.get("role") == "assistant":
            positions = [position for block in blocks if (position := _position(block)) is not None]
            yield Entry("assistant", joined_text(content), positions[-1] if positions else None)
            continue
        for block in blocks:
            if block.get("type") == "tool_result":
                yield Entry("tool", joined_text(block.get("content")))
        text = joined_text(content)
        if text:
            yield Entry("user" if message.get("role") == "user" else "system", text)


def _position(block: Json) -> int | None:
    mark = marks.read_id(string(block.get("id"))) or marks.read_signature(string(block.get("signature")))
    return mark.position if mark else None


def _blocks(reply: Reply, call: Call) -> Iterator[tuple[Json, list[Json]]]:
    """Each content block as it stands in a whole answer, with the deltas that build it in a stream."""
    if _wants_thinking(call):
        if reply.thinking:
            shown = [] if obj(call.body.get("thinking")).get("display") == "omitted" else reply.thinking
            deltas: list[Json] = [{"type": "thinking_delta", "thinking": piece} for piece in shown]
            deltas.append({"type": "signature_delta", "signature": reply.signature})
            yield {"type": "thinking", "thinking": "".join(shown), "signature": reply.signature}, deltas
        if reply.redacted_thinking is not None:
            yield {"type": "redacted_thinking", "data": reply.redacted_thinking}, []
    if reply.text:
        yield _text_block(reply.text)
    for tool in reply.calls:
        yield _tool_block(tool)


def _text_block(pieces: list[str]) -> tuple[Json, list[Json]]:
    deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in pieces]
    return {"type": "text", "text": "".join(pieces)}, deltas


def _tool_block(tool: ToolCall) -> tuple[Json, list[Json]]:
    block: Json = {
        "type": "tool_use",
        "id": tool.id or f"toolu_01{tool.tail}",
        "name": tool.name,
        "input": tool.arguments_object(),
    }
    pieces = ["", *tool.chunks]
    return block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _opened(block: Json) -> Json:
    """The block as content_block_start shows it: everything that deltas bring is still empty."""
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) if key != "type" else value for key, value in block.items()}


def _wants_thinking(call: Call) -> bool:
    asked = obj(call.body.get("thinking")).get("type") in ("enabled", "adaptive", "between_tools")
    return asked or call.script.show_thinking == "always"


def _event(kind: str, *, content: bool = False, **fields: Any) -> Event:
    return Event(sse({"type": kind, **fields}, kind), content)


def _message(reply: Reply) -> Json:
    return {"id": reply.identifier("msg_01"), "type": "message", "role": "assistant", "model": reply.model}


def _stop(reply: Reply, call: Call) -> Json:
    sequences = arr(call.body.get("stop_sequences"))
    stopped_by = sequences[0] if reply.stop == "stop_sequence" and sequences else None
    return {"stop_reason": _STOP_REASONS.get(reply.stop, reply.stop), "stop_sequence": stopped_by}


def _input_usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "input_tokens": usage.input - usage.cached - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
    }


def _output_usage(reply: Reply, call: Call) -> Json:
    counted: Json = {"output_tokens": reply.usage.output}
    if _wants_thinking(call):
        counted["output_tokens_details"] = {"thinking_tokens": reply.usage.reasoning}
    return counted


def _request_id(call: Call) -> str:
    return f"req_01{call.serial:022x}"
