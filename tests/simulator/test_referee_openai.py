"""The simulator refuses what OpenAI refuses, in its words and its shape."""

from typing import Any

import pytest

from devtools.simulator import Simulator

from .asking import USER, Json, complaint, post

pytestmark = pytest.mark.anyio

# OpenAI Chat Completions


def chat_call(identifier: str = "c1", **function: Any) -> Json:
    return {"id": identifier, "type": "function", "function": {"name": "shell", "arguments": "{}", **function}}


def chat_said(*calls: Json) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def chat_result(identifier: str = "c1") -> Json:
    return {"role": "tool", "tool_call_id": identifier, "content": "ok"}


def chat_tool(**function: Any) -> Json:
    return {"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}, **function}}


CHAT_REFUSED: dict[str, tuple[Json, str, str | None]] = {
    "no model": ({"model": None}, "you must provide a model parameter", None),
    "no messages": ({"messages": None}, "Missing required parameter: 'messages'.", "messages"),
    "empty messages": ({"messages": []}, "Invalid 'messages': empty array.", "messages"),
    "unknown role": ({"messages": [{"role": "bot", "content": "x"}]}, "Invalid value: 'bot'.", "messages[0].role"),
    "null content": ({"messages": [{"role": "user"}]}, "expected a string, got null", "messages.[0].content"),
    "empty assistant": ({"messages": [USER, {"role": "assistant"}]}, "expected a string, got null", None),
    "call unanswered": (
        {"messages": [USER, chat_said(chat_call("c1"), chat_call("c2")), chat_result("c1"), USER]},
        "did not have response messages: c2",
        "messages.[3].role",
    ),
    "call at the end": ({"messages": [USER, chat_said(chat_call())]}, "did not have response messages: c1", None),
    "result late": (
        {"messages": [USER, chat_said(chat_call()), USER, chat_result()]},
        "did not have response messages: c1",
        None,
    ),
    "result without call": ({"messages": [USER, chat_result()]}, "must be a response to a preceeding message", None),
    "two results": (
        {"messages": [USER, chat_said(chat_call()), chat_result(), chat_result()]},
        "Duplicate value for 'tool_call_id'",
        None,
    ),
    "no call id": (
        {"messages": [USER, chat_said(chat_call()), {"role": "tool", "content": "x"}]},
        "must have a 'tool_call_id'",
        None,
    ),
    "call ids repeated": (
        {"messages": [USER, chat_said(chat_call(), chat_call()), chat_result()]},
        "Duplicate value for 'tool_call_id'",
        None,
    ),
    "no calls": ({"messages": [USER, chat_said()]}, "Invalid 'messages[1].tool_calls': empty array.", None),
    "call id length": (
        {"messages": [USER, chat_said(chat_call("c" * 41)), chat_result("c" * 41)]},
        "maximum length 40, but got a string with length 41",
        "messages[1].tool_calls[0].id",
    ),
    "arguments no string": (
        {"messages": [USER, chat_said(chat_call(arguments={})), chat_result()]},
        "expected a string, but got an object",
        None,
    ),
    "empty tools": ({"tools": []}, "Invalid 'tools': empty array.", "tools"),
    "tool name": ({"tools": [chat_tool(name="a.b")]}, "does not match pattern", "tools[0].function.name"),
    "tool name length": ({"tools": [chat_tool(name="x" * 65)]}, "maximum length 64", "tools[0].function.name"),
    "flat tool": ({"tools": [{"type": "function", "name": "shell"}]}, "Missing required parameter", None),
    "schema type": ({"tools": [chat_tool(parameters={})]}, "Invalid schema for function 'shell'", None),
    "strict schema": (
        {"tools": [chat_tool(strict=True, parameters={"type": "object", "properties": {"a": {"type": "string"}}})]},
        "'additionalProperties' is required to be supplied and to be false",
        "tools[0].function.parameters",
    ),
    "choice without tools": ({"tool_choice": "auto"}, "only allowed when 'tools' are specified", "tool_choice"),
    "stream options": ({"stream_options": {"include_usage": True}}, "only allowed when 'stream' is enabled", None),
    "max_tokens": ({"model": "gpt-5", "max_tokens": 5}, "Use 'max_completion_tokens' instead", "max_tokens"),
    "temperature": ({"model": "o3", "temperature": 0}, "'temperature' does not support 0", "temperature"),
}


@pytest.mark.parametrize("case", list(CHAT_REFUSED))
async def test_chat_completions_refuses(case: str):
    changes, words, param = CHAT_REFUSED[case]
    error = await complaint("/v1/chat/completions", {"model": "gpt-4.1", "messages": [USER], **changes})
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]
    assert param is None or error["param"] == param


async def test_chat_completions_accepts_a_history_that_is_right():
    messages = [
        {"role": "developer", "content": "be brief"},
        USER,
        chat_said(chat_call("c1"), chat_call("c2")),
        chat_result("c2"),
        chat_result("c1"),
        USER,
    ]
    body = {"model": "gpt-4.1", "messages": messages, "tools": [chat_tool()], "max_tokens": 5, "temperature": 0}
    async with Simulator([{"text": "no"}, {"text": "yes"}]) as sim:
        answer = await post(sim, "/v1/chat/completions", body)
    assert answer.json()["choices"][0]["message"]["content"] == "yes"


# OpenAI Responses


def item_call(identifier: str = "c1", **fields: Any) -> Json:
    return {"type": "function_call", "call_id": identifier, "name": "shell", "arguments": "{}", **fields}


def item_output(identifier: str = "c1") -> Json:
    return {"type": "function_call_output", "call_id": identifier, "output": "ok"}


REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": []}

RESPONSES_REFUSED: dict[str, tuple[Json, str]] = {
    "no model": ({"model": None}, "Missing required parameter: 'model'."),
    "no input": ({"input": None}, "Missing required parameter: 'input'."),
    "unknown field": ({"messages": []}, "Unknown parameter: 'messages'."),
    "unknown item": ({"input": [{"type": "tool_result"}]}, "Invalid value: 'tool_result'."),
    "unknown role": ({"input": [{"role": "tool", "content": "x"}]}, "Invalid value: 'tool'."),
    "no content": ({"input": [{"role": "user"}]}, "Missing required parameter: 'input[0].content'."),
    "input part by the model": (
        {"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]},
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ),
    "call unanswered": ({"input": [USER, item_call()]}, "No tool output found for function call c1."),
    "output without call": (
        {"input": [item_output()]},
        "No tool call found for function call output with call_id c1.",
    ),
    "output before call": ({"input": [item_output(), item_call()]}, "No tool call found"),
    "call ids repeated": ({"input": [item_call(), item_call(), item_output()]}, "Duplicate tool call"),
    "two outputs": ({"input": [item_call(), item_output(), item_output()]}, "Duplicate tool output"),
    "item ids repeated": (
        {"input": [item_call(id="fc_1"), item_call("c2", id="fc_1"), item_output(), item_output("c2")]},
        "Duplicate item found with id fc_1",
    ),
    "foreign item id": ({"input": [item_call(id="abc"), item_output()]}, "Expected an ID that begins with 'fc'."),
    "no call id": ({"input": [item_call("")]}, "Missing required parameter: 'input[0].call_id'."),
    "call id length": ({"input": [item_call("c" * 65), item_output("c" * 65)]}, "maximum length 64"),
    "arguments no string": ({"input": [item_call(arguments={}), item_output()]}, "expected a string"),
    "no output": ({"input": [item_call(), {"type": "function_call_output", "call_id": "c1"}]}, "'input[1].output'"),
    "reasoning at the end": (
        {"input": [USER, REASONING]},
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    "reasoning before a user": ({"input": [USER, REASONING, USER]}, "without its required following item"),
    "reasoning not stored": (
        {"store": False, "input": [USER, REASONING, item_call(), item_output()]},
        "Items are not persisted when `store` is set to false",
    ),
    "reasoning forged": (
        {"input": [USER, {**REASONING, "encrypted_content": "forged"}, item_call(), item_output()]},
        "could not be verified",
    ),
    "previous response": ({"previous_response_id": "resp_0"}, "Previous response with id 'resp_0' not found."),
    "nested tool": ({"tools": [{"type": "function", "function": {}}]}, "Missing required parameter: 'tools[0].name'."),
    "tool name": ({"tools": [{"type": "function", "name": "a b"}]}, "does not match pattern"),
    "few output tokens": ({"max_output_tokens": 5}, "Expected a value >= 16, but got 5 instead."),
    "temperature": ({"temperature": 0.5}, "'temperature' is not supported with this model"),
    "effort": ({"model": "gpt-4.1", "reasoning": {"effort": "low"}}, "'reasoning.effort' is not supported"),
}


@pytest.mark.parametrize("case", list(RESPONSES_REFUSED))
async def test_responses_refuses(case: str):
    changes, words = RESPONSES_REFUSED[case]
    error = await complaint("/v1/responses", {"model": "gpt-5", "input": "hi", **changes})
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]


async def test_responses_wants_the_reasoning_of_a_stored_call():
    step: Json = {"thinking": "deep", "tool_calls": [{"name": "shell", "arguments": {}}]}
    async with Simulator([step, {"text": "done"}]) as sim:
        body: Json = {"model": "gpt-5", "input": [USER]}
        reasoning, call = (await post(sim, "/v1/responses", body)).json()["output"]
        output = item_output(call["call_id"])
        alone = await post(sim, "/v1/responses", {**body, "input": [USER, call, output]})
        assert f"without its required 'reasoning' item: '{reasoning['id']}'" in alone.json()["error"]["message"]
        together = await post(sim, "/v1/responses", {**body, "input": [USER, reasoning, call, output]})
        assert together.json()["output"][0]["content"][0]["text"] == "done"


async def test_responses_goes_on_from_a_previous_response():
    step: Json = {"text": "look", "tool_calls": [{"name": "shell", "arguments": {}}]}
    async with Simulator([step, {"text": "saw {last_result}"}]) as sim:
        first = (await post(sim, "/v1/responses", {"model": "gpt-5", "input": "hi"})).json()
        body: Json = {"model": "gpt-5", "previous_response_id": first["id"]}
        body["input"] = [item_output(first["output"][1]["call_id"])]
        second = (await post(sim, "/v1/responses", body)).json()
    assert second["output"][0]["content"][0]["text"] == "saw ok"
