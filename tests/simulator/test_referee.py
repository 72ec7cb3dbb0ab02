"""The simulator refuses what Anthropic and Google refuse, in their words and their shape."""

from typing import Any

import pytest

from devtools.simulator import Simulator

from .asking import USER, Json, complaint, post

pytestmark = pytest.mark.anyio

# Anthropic

VERSION = {"anthropic-version": "2023-06-01"}


def anthropic_use(identifier: str = "t1", **fields: Any) -> Json:
    return {"type": "tool_use", "id": identifier, "name": "shell", "input": {}, **fields}


def anthropic_result(identifier: str = "t1") -> Json:
    return {"type": "tool_result", "tool_use_id": identifier, "content": "ok"}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def asked(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def anthropic_tool(**fields: Any) -> Json:
    return {"name": "shell", "input_schema": {"type": "object"}, **fields}


TEXT: Json = {"type": "text", "text": "hello"}
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "forged"}

ANTHROPIC_REFUSED: dict[str, tuple[Json, str]] = {
    "no max_tokens": ({"max_tokens": None}, "max_tokens: Field required"),
    "no model": ({"model": None}, "model: Field required"),
    "no messages": ({"messages": []}, "at least one message is required"),
    "unknown field": ({"max_completion_tokens": 5}, "max_completion_tokens: Extra inputs are not permitted"),
    "assistant first": ({"messages": [said(TEXT), USER]}, 'first message must use the "user" role'),
    "system role": ({"messages": [USER, {"role": "system", "content": "x"}]}, 'Unexpected role "system"'),
    "unknown role": ({"messages": [USER, {"role": "tool", "content": "x"}]}, 'Unexpected role "tool"'),
    "empty content": ({"messages": [{"role": "user", "content": ""}]}, "must have non-empty content"),
    "empty text": ({"messages": [asked({"type": "text", "text": ""})]}, "text content blocks must be non-empty"),
    "blank text": ({"messages": [asked({"type": "text", "text": " "})]}, "must contain non-whitespace text"),
    "blank end": ({"messages": [USER, {"role": "assistant", "content": "x "}]}, "cannot end with trailing whitespace"),
    "unknown block": ({"messages": [asked({"type": "tool_call"})]}, "Input tag 'tool_call' found using 'type'"),
    "call unanswered": (
        {"messages": [USER, said(anthropic_use("t1"), anthropic_use("t2")), asked(anthropic_result("t1"))]},
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2.",
    ),
    "call at the end": ({"messages": [USER, said(anthropic_use())]}, "immediately after: t1"),
    "text before the result": (
        {"messages": [USER, said(anthropic_use()), asked(TEXT, anthropic_result())]},
        "immediately after: t1",
    ),
    "result without call": (
        {"messages": [asked(anthropic_result("t9"))]},
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9.",
    ),
    "two results": (
        {"messages": [USER, said(anthropic_use()), asked(anthropic_result(), anthropic_result())]},
        "each tool_use must have a single result",
    ),
    "call ids repeated": (
        {"messages": [USER, said(anthropic_use(), anthropic_use()), asked(anthropic_result())]},
        "`tool_use` ids must be unique",
    ),
    "call by the user": ({"messages": [asked(anthropic_use())]}, "can only be in `assistant` messages"),
    "result by the model": ({"messages": [USER, said(anthropic_result())]}, "can only be in `user` messages"),
    "call id from elsewhere": (
        {"messages": [USER, said(anthropic_use("call:1")), asked(anthropic_result("call:1"))]},
        "tool_use.id: String should match pattern",
    ),
    "input no object": (
        {"messages": [USER, said(anthropic_use(input="{}")), asked(anthropic_result())]},
        "tool_use.input: Input should be a valid dictionary",
    ),
    "no signature": (
        {"messages": [USER, said({"type": "thinking", "thinking": "hm"}, TEXT), USER]},
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "forged signature": ({"messages": [USER, said(THOUGHT, TEXT), USER]}, "Invalid `signature` in `thinking` block"),
    "tool name": ({"tools": [anthropic_tool(name="a.b")]}, "tools.0.custom.name: String should match pattern"),
    "tool name length": ({"tools": [anthropic_tool(name="x" * 129)]}, "{1,128}"),
    "tools repeated": ({"tools": [anthropic_tool(), anthropic_tool()]}, "Tool names must be unique"),
    "no schema": ({"tools": [{"name": "shell"}]}, "tools.0.custom.input_schema: Field required"),
    "schema type": ({"tools": [anthropic_tool(input_schema={})]}, "tools.0.custom.input_schema.type: Field required"),
    "choice without tools": ({"tool_choice": {"type": "auto"}}, "may only be specified while providing tools"),
    "cache marks": (
        {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "small budget": ({"thinking": {"type": "enabled", "budget_tokens": 5}}, "greater than or equal to 1024"),
    "budget over max": (
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "prefill": (
        {"model": "claude-opus-5", "messages": [USER, said(TEXT)]},
        "does not support assistant message prefill",
    ),
}


@pytest.mark.parametrize("case", list(ANTHROPIC_REFUSED))
async def test_anthropic_refuses(case: str):
    changes, words = ANTHROPIC_REFUSED[case]
    body = {"model": "claude-simulated", "max_tokens": 1500, "messages": [USER], **changes}
    error = await complaint("/v1/messages", body, VERSION)
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]


async def test_anthropic_wants_a_version():
    body = {"model": "claude-simulated", "max_tokens": 10, "messages": [USER]}
    assert "anthropic-version" in (await complaint("/v1/messages", body))["message"]


async def test_anthropic_accepts_a_history_that_is_right():
    messages = [
        USER,
        {"role": "user", "content": "and again"},
        said(TEXT, anthropic_use("t1"), anthropic_use("t2")),
        asked(anthropic_result("t2"), anthropic_result("t1"), TEXT),
    ]
    async with Simulator([{"text": "no"}, {"text": "yes"}]) as sim:
        body = {"model": "m", "max_tokens": 10, "messages": messages, "tools": [anthropic_tool()]}
        answer = await post(sim, "/v1/messages", body, VERSION)
        counted = await post(sim, "/v1/messages/count_tokens", {"model": "m", "messages": messages}, VERSION)
    assert answer.json()["content"] == [{"type": "text", "text": "yes"}]
    assert counted.json()["input_tokens"] > 50


async def test_anthropic_watches_over_thinking():
    step: Json = {"thinking": "deep", "tool_calls": [{"name": "shell", "arguments": {}}]}
    async with Simulator([step, {"text": "done"}]) as sim:
        body: Json = {"model": "m", "max_tokens": 4000, "messages": [USER]}
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        thought, call = (await post(sim, "/v1/messages", body, VERSION)).json()["content"]
        result = asked(anthropic_result(call["id"]))

        async def verdict(*blocks: Json) -> str:
            answer = await post(sim, "/v1/messages", {**body, "messages": [USER, said(*blocks), result]}, VERSION)
            return answer.json().get("error", {}).get("message", "accepted")

        assert await verdict(thought, call) == "accepted"
        assert "Expected `thinking` or `redacted_thinking`, but found `tool_use`" in await verdict(call)
        assert "Invalid `signature`" in await verdict({**thought, "thinking": "other"}, call)


async def test_a_signature_named_in_the_script_is_accepted():
    script = [{"text": "a", "thinking": "hm", "signature": "forged"}, {"text": "b"}]
    body = {"model": "m", "max_tokens": 10, "messages": [USER, said(THOUGHT, {"type": "text", "text": "a"}), USER]}
    async with Simulator(script) as sim:
        assert (await post(sim, "/v1/messages", body, VERSION)).json()["content"][0]["text"] == "b"


async def test_the_referee_can_be_sent_away():
    async with Simulator({"referee": False, "steps": [{"text": "fine"}], "loop": True}) as sim:
        answer = await post(sim, "/v1/messages", {"messages": [said(anthropic_use())]})
    assert answer.status_code == 200


# Gemini


def gemini_call(name: str = "shell", **part: Any) -> Json:
    return {"functionCall": {"name": name, "args": {}}, **part}


def gemini_result(name: str = "shell", **fields: Any) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": "ok"}, **fields}}


def gemini_user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts) or [{"text": "hi"}]}


def gemini_model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def gemini_tools(*declarations: Json) -> Json:
    return {"tools": [{"functionDeclarations": list(declarations)}]}


GEMINI_REFUSED: dict[str, tuple[Json, str]] = {
    "no contents": ({"contents": []}, "contents is not specified"),
    "no parts": ({"contents": [{"role": "user", "parts": []}]}, "contents.parts must not be empty"),
    "empty part": ({"contents": [gemini_user({})]}, "required oneof field 'data' must have one initialized field"),
    "empty text": ({"contents": [gemini_user({"text": ""})]}, "required oneof field 'data'"),
    "unknown role": ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "valid role: user, model"),
    "unknown field": ({"messages": []}, 'Unknown name "messages": Cannot find field.'),
    "too few responses": (
        {"contents": [gemini_user(), gemini_model(gemini_call(), gemini_call()), gemini_user(gemini_result())]},
        "number of function response parts is equal to the number of function call parts",
    ),
    "no response": ({"contents": [gemini_user(), gemini_model(gemini_call()), gemini_user()]}, "is equal to"),
    "response without call": (
        {"contents": [gemini_user(), gemini_model({"text": "x"}), gemini_user(gemini_result())]},
        "function response turn comes immediately after a function call turn",
    ),
    "call first": (
        {"contents": [gemini_model(gemini_call()), gemini_user(gemini_result())]},
        "function call turn comes immediately after a user turn",
    ),
    "other name": (
        {"contents": [gemini_user(), gemini_model(gemini_call()), gemini_user(gemini_result("read"))]},
        "names match",
    ),
    "response no object": (
        {"contents": [gemini_user(), gemini_model(gemini_call()), gemini_user(gemini_result(response="x"))]},
        "function_response.response' (type.googleapis.com/google.protobuf.Struct)",
    ),
    "model at the end": ({"contents": [gemini_user(), gemini_model({"text": "x"})]}, "end with a user role"),
    "function name": (gemini_tools({"name": "1st"}), "Invalid function name"),
    "function name length": (gemini_tools({"name": "x" * 65}), "maximum length of 64"),
    "functions repeated": (gemini_tools({"name": "a"}, {"name": "a"}), "Duplicate function declaration found: a"),
    "json schema": (
        gemini_tools({"name": "a", "parameters": {"type": "object", "$schema": "x"}}),
        "Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters'",
    ),
    "type list": (
        gemini_tools(
            {"name": "a", "parameters": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}}}
        ),
        "Proto field is not repeating",
    ),
    "array without items": (
        gemini_tools({"name": "a", "parameters": {"type": "OBJECT", "properties": {"x": {"type": "ARRAY"}}}}),
        "properties[x].items: missing field",
    ),
}


@pytest.mark.parametrize("case", list(GEMINI_REFUSED))
async def test_gemini_refuses(case: str):
    changes, words = GEMINI_REFUSED[case]
    error = await complaint("/v1beta/models/gemini-2.5-pro:generateContent", {"contents": [gemini_user()], **changes})
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert words in error["message"]


@pytest.mark.parametrize(
    ("signature", "verdict"),
    [
        (None, "missing a thought_signature"),
        ("Zm9yZ2Vk", "Thought signature is not valid"),
        ("skip_thought_signature_validator", "yes"),
    ],
)
async def test_gemini_3_wants_the_signatures_of_the_running_turn(signature: str | None, verdict: str):
    part = gemini_call() if signature is None else gemini_call(thoughtSignature=signature)
    earlier = [gemini_user(), gemini_model(gemini_call()), gemini_user(gemini_result()), gemini_model({"text": "a"})]
    body = {"contents": [*earlier, gemini_user(), gemini_model(part), gemini_user(gemini_result())]}
    async with Simulator({"steps": [{"text": "yes"}], "loop": True}) as sim:
        answer = await post(sim, "/v1beta/models/gemini-3-pro-preview:generateContent", body)
        older = await post(sim, "/v1beta/models/gemini-2.5-pro:generateContent", body)
    assert verdict in answer.text
    assert older.status_code == 200


async def test_gemini_accepts_json_schema_in_its_place():
    declaration = {"name": "mcp.tool:x-1", "parametersJsonSchema": {"$schema": "x", "type": ["object"]}}
    async with Simulator([{"text": "yes"}]) as sim:
        body = {"contents": [gemini_user()], **gemini_tools(declaration)}
        answer = await post(sim, "/v1beta/models/gemini-2.5-pro:generateContent", body)
    assert answer.status_code == 200
