"""OpenAI Responses."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from devtools.simulator import marks
from devtools.simulator.formats import openai_shared as shared
from devtools.simulator.inquiry import Entry, Inquiry, inquire
from devtools.simulator.problems import Problem, refuse
from devtools.simulator.referee import responses as referee
from devtools.simulator.reply import Reply
from devtools.simulator.wire import Call, ErrorAnswer, Event, Json, arr, joined_text, obj, sse, string

_CONTEXT_MESSAGE = "Your input exceeds the context window of this model. Please adjust your input and try again."
_INCOMPLETE = {"max_tokens": "max_output_tokens", "content_filter": "content_filter"}
_MOST_STORED = 64


class Responses:
    """Keeps the last few responses, because a client may refer to one by `previous_response_id`."""

    name = "openai-responses"

    def __init__(self) -> None:
        self._stored: OrderedDict[str, list[Any]] = OrderedDict()

    def media_type(self, call: Call) -> str:
        return "text/event-stream; charset=utf-8"

    def inquire(self, call: Call) -> Inquiry:
        stream = call.body.get("stream") is True
        entries = _entries(string(call.body.get("instructions")), self._items(call))
        return inquire(string(call.body.get("model")), stream, entries, len(call.raw_body))

    def referee(self, call: Call) -> None:
        referee.check(call.body, lambda: self._items(call), own_signatures=call.script.signatures)

    def whole(self, reply: Reply, call: Call) -> Json:
        output = [item for item, _ in _items_with_deltas(reply, call)]
        self._store(reply, call, output)
        return _finished(_response(reply, call), reply, output)

    def events(self, reply: Reply, call: Call) -> list[Event]:
        stream = _Sequence()
        response = _response(reply, call)
        stream.add("response.created", response=response)
        stream.add("response.in_progress", response=response)
        output: list[Json] = []
        for index, (item, deltas) in enumerate(_items_with_deltas(reply, call)):
            stream.add("response.output_item.added", output_index=index, item=_opened(item))
            _SPEAK[item["type"]](stream, item, deltas, {"item_id": item["id"], "output_index": index})
            stream.add("response.output_item.done", output_index=index, item=item)
            output.append(item)
        self._store(reply, call, output)
        last = _finished(response, reply, output)
        stream.add(f"response.{last['status']}", response=last)
        return stream.events

    def count(self, tokens: int, call: Call) -> Json:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def models(self, names: list[str], call: Call) -> Json:
        return shared.model_list(names)

    def model(self, name: str, call: Call) -> Json:
        return shared.model_entry(name)

    def headers(self, call: Call) -> dict[str, str]:
        return shared.request_headers(call)

    def error(self, problem: Problem, call: Call) -> ErrorAnswer:
        return shared.error_answer(problem, call, shared.error_object(problem, call, _CONTEXT_MESSAGE, "input"))

    def error_event(self, problem: Problem, reply: Reply, call: Call, sequence: int) -> bytes:
        message = string(obj(self.error(problem, call).body).get("error", {}).get("message"))
        code = "rate_limit_exceeded" if problem.kind == "rate_limit" else "server_error"
        failed = {**_response(reply, call), "status": "failed", "error": {"code": code, "message": message}}
        data = {"type": "response.failed", "sequence_number": sequence, "response": failed}
        return sse(data, "response.failed")

    def _items(self, call: Call) -> list[Any]:
        """The whole conversation: what a previous response left, and what this request adds."""
        given = call.body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else arr(given)
        previous = call.body.get("previous_response_id")
        if previous is None:
            return items
        if string(previous) not in self._stored:
            raise refuse(
                f"Previous response with id '{previous}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        return [*self._stored[string(previous)], *items]

    def _store(self, reply: Reply, call: Call, output: list[Json]) -> None:
        if call.body.get("store") is False:
            return
        self._stored[reply.identifier("resp_")] = [*self._items(call), *output]
        while len(self._stored) > _MOST_STORED:
            self._stored.popitem(last=False)


class _Sequence:
    """The events of a stream, numbered as they come."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: str, **fields: Any) -> None:
        data = {"type": kind, "sequence_number": len(self.events), **fields}
        self.events.append(Event(sse(data, kind), content="delta" in fields))


def _entries(instructions: str, items: list[Any]) -> Iterator[Entry]:
    yield Entry("system", instructions)
    for item in map(obj, items):
        kind = item.get("type", "message")
        if kind == "message":
            role = item.get("role")
            mark = marks.read_id(string(item.get("id")))
            text = joined_text(item.get("content"))
            if role == "assistant":
                yield Entry("assistant", text, mark.position if mark else None)
            else:
                yield Entry("user" if role == "user" else "system", text)
        elif string(kind).endswith("_output"):
            yield Entry("tool", joined_text(item.get("output")))
        else:
            mark = marks.read_id(string(item.get("call_id"))) or marks.read_id(string(item.get("id")))
            yield Entry("assistant", position=mark.position if mark else None)


def _items_with_deltas(reply: Reply, call: Call) -> Iterator[tuple[Json, list[str]]]:
    """Each output item as it stands in a whole answer, with the pieces that a stream sends it in."""
    index = 0

    def tail() -> str:
        return marks.id_tail(reply.serial, reply.position, index, thought=reply.thought)

    if reply.thought:
        asked = obj(call.body.get("reasoning")).get("summary") is not None or call.script.show_thinking == "always"
        pieces = reply.thinking if asked else []
        summary = [{"type": "summary_text", "text": "".join(pieces)}] if pieces else []
        item: Json = {"id": f"rs_{tail()}", "type": "reasoning", "summary": summary}
        if "reasoning.encrypted_content" in arr(call.body.get("include")):
            item["encrypted_content"] = reply.signature
        yield item, pieces
        index += 1
    if reply.text:
        text = "".join(reply.text)
        if reply.stop == "refusal":
            part: Json = {"type": "refusal", "refusal": text}
        else:
            part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
        status = "incomplete" if reply.stop in _INCOMPLETE and not reply.calls else "completed"
        item = {
            "id": f"msg_{tail()}",
            "type": "message",
            "status": status,
            "content": [part],
            "role": "assistant",
        }
        yield item, reply.text
        index += 1
    custom = {
        string(tool.get("name")) for tool in map(obj, arr(call.body.get("tools"))) if tool.get("type") == "custom"
    }
    for tool in reply.calls:
        if tool.name in custom:
            text = tool.text
            yield (
                {
                    "id": f"ctc_{tail()}",
                    "type": "custom_tool_call",
                    "status": "completed",
                    "call_id": tool.id or f"call_{tool.tail}",
                    "input": text,
                    "name": tool.name,
                },
                [text],
            )
            index += 1
            continue
        item = {
            "id": f"fc_{tail()}",
            "type": "function_call",
            "status": "completed",
            "arguments": tool.arguments,
            "call_id": tool.id or f"call_{tool.tail}",
            "name": tool.name,
        }
        yield item, tool.chunks
        index += 1


def _opened(item: Json) -> Json:
    """The item as output_item.added shows it: everything that deltas bring is still empty."""
    empty: Json = {"summary": [], "content": [], "arguments": "", "input": "", "status": "in_progress"}
    return {key: empty.get(key, value) for key, value in item.items()}


def _speak_reasoning(stream: _Sequence, item: Json, deltas: list[str], where: Json) -> None:
    for index, part in enumerate(item["summary"]):
        place = {**where, "summary_index": index}
        stream.add("response.reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
        for delta in deltas:
            stream.add("response.reasoning_summary_text.delta", **place, delta=delta)
        stream.add("response.reasoning_summary_text.done", **place, text=part["text"])
        stream.add("response.reasoning_summary_part.done", **place, part=part)


def _speak_message(stream: _Sequence, item: Json, deltas: list[str], where: Json) -> None:
    for index, part in enumerate(item["content"]):
        place = {**where, "content_index": index}
        refused = part["type"] == "refusal"
        kind, key = ("response.refusal", "refusal") if refused else ("response.output_text", "text")
        extra: Json = {} if refused else {"logprobs": []}
        stream.add("response.content_part.added", **place, part={**part, key: ""})
        for delta in deltas:
            stream.add(f"{kind}.delta", **place, delta=delta, **extra)
        stream.add(f"{kind}.done", **place, **{key: part[key]}, **extra)
        stream.add("response.content_part.done", **place, part=part)


def _speak_call(stream: _Sequence, item: Json, deltas: list[str], where: Json) -> None:
    for delta in deltas:
        stream.add("response.function_call_arguments.delta", **where, delta=delta)
    stream.add("response.function_call_arguments.done", **where, arguments=item["arguments"], name=item["name"])


def _speak_text_call(stream: _Sequence, item: Json, deltas: list[str], where: Json) -> None:
    for delta in deltas:
        stream.add("response.custom_tool_call_input.delta", **where, delta=delta)
    stream.add("response.custom_tool_call_input.done", **where, input=item["input"])


_SPEAK = {
    "reasoning": _speak_reasoning,
    "message": _speak_message,
    "function_call": _speak_call,
    "custom_tool_call": _speak_text_call,
}


def _echo(call: Call) -> Json:
    """What a response repeats of its request."""
    body = call.body
    reasoning = obj(body.get("reasoning"))
    return {
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "metadata": body.get("metadata") or {},
        "model": string(body.get("model")),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": arr(body.get("tools")),
        "top_logprobs": 0,
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "user": body.get("user"),
    }


def _response(reply: Reply, call: Call) -> Json:
    base = {"id": reply.identifier("resp_"), "object": "response", "created_at": shared.now()}
    return {**base, **_echo(call), "status": "in_progress", "output": [], "usage": None}


def _finished(response: Json, reply: Reply, output: list[Json]) -> Json:
    reason = _INCOMPLETE.get(reply.stop)
    ended: Json = {"status": "completed", "completed_at": shared.now()}
    if reason:
        ended = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {**response, **ended, "output": output, "usage": _usage(reply)}


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
