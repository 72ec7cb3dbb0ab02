"""Whatever a client sends, it gets an answer: no request may break the simulator."""

import copy
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.simulator import ThreadedSimulator

HEADERS = {"anthropic-version": "2023-06-01", "content-type": "application/json"}

SCHEMA = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}}}, "required": ["x"]}

REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 2000,
            "stream": True,
            "system": [{"type": "text", "text": "s"}],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "shell", "input_schema": SCHEMA}],
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "t", "signature": "mine"},
                        {"type": "text", "text": "x"},
                        {"type": "tool_use", "id": "t1", "name": "shell", "input": {}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]},
            ],
        },
    ),
    "chat": (
        "/v1/chat/completions",
        {
            "model": "m",
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [{"type": "function", "function": {"name": "shell", "parameters": SCHEMA, "strict": False}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "r"},
            ],
        },
    ),
    "responses": (
        "/v1/responses",
        {
            "model": "gpt-5",
            "stream": True,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"summary": "auto"},
            "tools": [{"type": "function", "name": "shell", "parameters": SCHEMA}],
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "mine"},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "shell", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "r"},
            ],
        },
    ),
    "gemini": (
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        {
            "systemInstruction": {"parts": [{"text": "s"}]},
            "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
            "tools": [{"functionDeclarations": [{"name": "shell", "parameters": SCHEMA}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {
                    "role": "model",
                    "parts": [{"functionCall": {"name": "shell", "args": {}}, "thoughtSignature": "mine"}],
                },
                {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "r"}}}]},
            ],
        },
    ),
}

odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 5),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.just([{}]),
    st.just([1]),
)


@pytest.fixture(scope="module")
def sims() -> Iterator[list[ThreadedSimulator]]:
    steps = [{"text": "hi {last_result}", "thinking": "t", "signature": "mine", "tool_calls": [{"name": "shell"}]}]
    script: dict[str, Any] = {"steps": steps, "loop": True}
    with ThreadedSimulator(script) as strict, ThreadedSimulator({**script, "referee": False}) as lenient:
        yield [strict, lenient]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON document."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    elif isinstance(value, list):
        inner = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def send(sim: ThreadedSimulator, path: str, body: Any) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", sim.port, timeout=5)
    try:
        connection.request("POST", path, json.dumps(body), HEADERS)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("wire", list(REQUESTS))
def test_the_requests_to_be_spoiled_are_right(sims: list[ThreadedSimulator], wire: str):
    for sim in sims:
        status, body = send(sim, *REQUESTS[wire])
        assert status == 200, body


@pytest.mark.parametrize("wire", list(REQUESTS))
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_spoiled_request_is_answered(sims: list[ThreadedSimulator], wire: str, data: st.DataObject):
    path, request = REQUESTS[wire]
    body = copy.deepcopy(request)
    *parents, key = data.draw(st.sampled_from(list(places(body))))
    holder: Any = body
    for parent in parents:
        holder = holder[parent]
    holder[key] = data.draw(odd_values)
    assert send(sims[0], path, body)[0] in (200, 400, 404)
    assert send(sims[1], path, body)[0] == 200
