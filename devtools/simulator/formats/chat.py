"""OpenAI Chat Completions, also spoken by Azure, GitHub Models, Ollama, vLLM, OpenRouter and others."""

from collections.abc import Iterator

from devtools.simulator import marks
from devtools.simulator.formats import openai_shared as shared
from devtools.simulator.inquiry import Entry, Inquiry, inquire
from devtools.simulator.problems import Problem
from devtools.simulator.referee import chat as referee
from devtools.simulator.reply import Call as ToolCall
from devtools.simulator.reply import Reply
from devtools.simulator.wire import Call, ErrorAnswer, Event, Json, arr, joined_text, obj, sse, string

_CONTEXT_MESSAGE = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130412 tokens. "
    "Please reduce the length of the messages."
)

_FINISH_REASONS = {
    "end": "stop",
    "stop_sequence": "stop",
    "refusal": "stop",
    "pause": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
}

_CONTENT_FILTER = {
    kind: {"filtered": False, "severity": "safe"} for kind in ("hate", "self_harm", "sexual", "violence")
}


class ChatCompletions:
    name = "openai-chat"

    def media_type(self, call: Call) -> str:
        return "text/event-stream; charset=utf-8"

    def inquire(self, call: Call) -> Inquiry:
        stream = call.body.get("stream") is True
        return inquire(shared.model_of(call), stream, _entries(call.body), len(call.raw_body))

    def referee(self, call: Call) -> None:
        referee.check(call.body, model=shared.model_of(call))

    def whole(self, reply: Reply, call: Call) -> Json:
        text = "".join(reply.text)
        refused = reply.stop == "refusal"
        message: Json = {
            "role": "assistant",
            "content": None if refused or (reply.calls and not text) else text,
            "refusal": text if refused else None,
            "annotations": [],
        }
        if reply.thinking:
            message["reasoning_content"] = "".join(reply.thinking)
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": _call_id(tool),
                    "type": "function",
                    "function": {"name": tool.name, "arguments": tool.arguments},
                }
                for tool in reply.calls
            ]
        choice: Json = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _FINISH_REASONS.get(reply.stop, reply.stop),
        }
        if shared.is_azure(call):
            choice["content_filter_results"] = _CONTENT_FILTER
        return {**_base(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def events(self, reply: Reply, call: Call) -> list[Event]:
        base = _base(reply, "chat.completion.chunk")
        counted = obj(call.body.get("stream_options")).get("include_usage") is True
        if counted:
            base["usage"] = None

        def chunk(delta: Json, finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return sse({**base, "choices": [choice]})

        opening = "" if reply.text or not reply.calls else None
        events = [Event(chunk({"role": "assistant", "content": opening, "refusal": None}))]
        if shared.is_azure(call):
            events.insert(0, Event(sse(_azure_prompt_filter())))
        spoken = "refusal" if reply.stop == "refusal" else "content"
        events += [Event(chunk({"reasoning_content": piece}), content=True) for piece in reply.thinking]
        events += [Event(chunk({spoken: piece}), content=True) for piece in reply.text]
        for index, tool in enumerate(reply.calls):
            function: Json = {"name": tool.name, "arguments": ""}
            opener = {"index": index, "id": _call_id(tool), "type": "function", "function": function}
            events.append(Event(chunk({"tool_calls": [opener]})))
            for piece in tool.chunks:
                delta = {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                events.append(Event(chunk(delta), content=True))
        events.append(Event(chunk({}, _FINISH_REASONS.get(reply.stop, reply.stop))))
        if counted:
            events.append(Event(sse({**base, "choices": [], "usage": _usage(reply)})))
        events.append(Event(b"data: [DONE]\n\n"))
        return events

    def count(self, tokens: int, call: Call) -> Json:
        raise Problem("not_found", f"Invalid URL ({call.method} {call.path})")

    def models(self, names: list[str], call: Call) -> Json:
        return shared.model_list(names)

    def model(self, name: str, call: Call) -> Json:
        return shared.model_entry(name)

    def headers(self, call: Call) -> dict[str, str]:
        return shared.request_headers(call)

    def error(self, problem: Problem, call: Call) -> ErrorAnswer:
        error = shared.error_object(problem, call, _CONTEXT_MESSAGE, "messages")
        return shared.error_answer(problem, call, error)

    def error_event(self, problem: Problem, reply: Reply, call: Call, sequence: int) -> bytes:
        return sse(self.error(problem, call).body)


def _entries(body: Json) -> Iterator[Entry]:
    for message in map(obj, arr(body.get("messages"))):
        role = string(message.get("role"))
        text = joined_text(message.get("content"))
        if role == "assistant":
            found = [marks.read_id(string(obj(call).get("id"))) for call in arr(message.get("tool_calls"))]
            positions = [mark.position for mark in found if mark]
            yield Entry("assistant", text, positions[-1] if positions else None)
        elif role in ("tool", "function"):
            yield Entry("tool", text)
        else:
            yield Entry("user" if role == "user" else "system", text)


def _call_id(tool: ToolCall) -> str:
    return tool.id or f"call_{tool.tail}"


def _base(reply: Reply, kind: str) -> Json:
    return {
        "id": reply.identifier("chatcmpl-"),
        "object": kind,
        "created": shared.now(),
        "model": reply.model,
        "service_tier": "default",
        "system_fingerprint": "fp_simulated",
    }


def _azure_prompt_filter() -> Json:
    """Azure opens each stream with a chunk that has no choices."""
    results = [{"prompt_index": 0, "content_filter_results": _CONTENT_FILTER}]
    return {
        "choices": [],
        "created": 0,
        "id": "",
        "model": "",
        "object": "",
        "prompt_filter_results": results,
    }


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
