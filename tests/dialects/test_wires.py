"""One session through the whole daemon, with one family after the other: each is spoken to in its own words."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.messages import ToolCallPart
from openagent.protocol.sessions import SessionUpdate, SettingsChange

from ..interaction.house import House
from ..models.place import place, provider, session, turn
from .referees import accept_anthropic, accept_gemini, accept_responses

pytestmark = pytest.mark.anyio

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+three\n*** End Patch"


def calls(*made: tuple[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in made]}


@asynccontextmanager
async def daemon(
    tmp_path: Path, script: list[dict[str, Any]], *more: str
) -> AsyncGenerator[tuple[House, Client, Simulator]]:
    async with Simulator(script) as sim:
        config = (
            provider("anthropic", "anthropic", sim, 'api_key = "k"', *more)
            + provider("openai", "openai", sim, 'api_key = "k"', 'api = "responses"')
            + provider("gemini", "gemini", sim, 'api_key = "k"')
            + provider("chat", "compatible", sim, 'api_key = "k"')
        )
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            (house.workspace / "a.txt").write_text("one\n")
            yield house, client, sim


async def go_on_with(client: Client, name: str, model: str) -> None:
    change = SettingsChange(model=model)
    await client.request(SessionUpdate(id=client.next_id(), session=name, settings=change))


def names(tools: list[dict[str, Any]]) -> set[str]:
    return {tool["name"] for tool in tools}


def made(seen: list[e.Event]) -> list[tuple[str, dict[str, Any]]]:
    """Calls as they are stored and shown."""
    messages = [event.message for event in seen if isinstance(event, e.MessageAdded)]
    return [(part.name, part.arguments) for each in messages for part in each.parts if isinstance(part, ToolCallPart)]


async def test_a_session_goes_from_claude_to_gpt_to_gemini_and_each_hears_its_own_words(tmp_path: Path) -> None:
    script = [
        calls(("Read", {"file_path": "a.txt"}), ("Bash", {"command": "false", "description": "Fail"})),
        calls(("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})),
        {"text": "It says two."},
        calls(("exec_command", {"cmd": "cat a.txt", "yield_time_ms": 1000})),
        calls(("apply_patch", PATCH)),
        {"text": "It says three."},
        calls(("replace", {"file_path": "a.txt", "instruction": "x", "old_string": "three", "new_string": "four"})),
        {"text": "It says four."},
    ]
    async with daemon(tmp_path, script) as (house, client, sim):
        name = await session(house, client, "anthropic/claude-sonnet-4-5")
        ended, first = await turn(client, name)
        assert (ended.reason, ended.text) == ("done", "It says two.")
        await go_on_with(client, name, "openai/gpt-5")
        ended, second = await turn(client, name)
        assert (ended.reason, ended.text) == ("done", "It says three.")
        await go_on_with(client, name, "gemini/gemini-2.5-pro")
        ended, third = await turn(client, name)
        assert (ended.reason, ended.text) == ("done", "It says four.")
        assert (house.workspace / "a.txt").read_text() == "four\n"
        assert made(first) == [
            ("read_file", {"path": "a.txt"}),
            ("shell", {"command": "false"}),
            ("edit_file", {"path": "a.txt", "old": "one", "new": "two"}),
        ]
        assert made(second) == [("shell", {"command": "cat a.txt"}), ("apply_patch", {"patch": PATCH})]
        assert made(third) == [("edit_file", {"path": "a.txt", "old": "three", "new": "four"})]
        shown = {event.tool for event in (*first, *second, *third) if isinstance(event, e.ToolStarted)}
        assert shown == {"read_file", "shell", "edit_file", "apply_patch"}
        assert all(request.error is None for request in sim.requests)
        bodies = [request.json() for request in sim.requests]
    claude_was_told(bodies[2])
    gpt_was_told(bodies[5])
    gemini_was_told(bodies[7])


def claude_was_told(body: dict[str, Any]) -> None:
    accept_anthropic(body)
    assert {"Read", "Edit", "Write", "Bash", "Glob", "Grep", "TodoWrite", "agent"} <= names(body["tools"])
    assert not {"read_file", "edit_file", "shell", "apply_patch", "git"} & names(body["tools"])
    (edit,) = [tool for tool in body["tools"] if tool["name"] == "Edit"]
    assert [*edit["input_schema"]["properties"]] == ["file_path", "old_string", "new_string", "replace_all"]
    assert "(`Read`, `Edit`)" in body["system"][0]["text"]
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"] == [
        ("Read", {"file_path": "a.txt"}),
        ("Bash", {"command": "false"}),
        ("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
    ]
    results = [block["content"][0]["text"] for block in blocks if block["type"] == "tool_result"]
    assert results[:2] == ["1\tone", "Exit code 1\n"]


def gpt_was_told(body: dict[str, Any]) -> None:
    accept_responses(body)
    assert {"exec_command", "apply_patch", "update_plan", "read_file"} <= names(body["tools"])
    assert not {"edit_file", "write_file", "grep", "shell", "Bash"} & names(body["tools"])
    (patching,) = [tool for tool in body["tools"] if tool["name"] == "apply_patch"]
    assert patching["type"] == "custom"
    assert patching["format"]["syntax"] == "lark"
    assert "`exec_command`" in body["instructions"]
    said = [item for item in body["input"] if item.get("type") in ("function_call", "custom_tool_call")]
    assert [item["name"] for item in said] == ["read_file", "exec_command", "edit_file", "exec_command", "apply_patch"]
    assert said[-1]["input"] == PATCH
    told = [item["output"] for item in body["input"] if str(item.get("type")).endswith("_output")]
    assert told[3].startswith("Wall time: ")
    assert told[3].endswith("Process exited with code 0\nOutput:\ntwo")
    assert told[4] == "Success. Updated the following files:\nM a.txt"


def gemini_was_told(body: dict[str, Any]) -> None:
    accept_gemini(body)
    offered = body["tools"][0]["functionDeclarations"]
    assert {"read_file", "replace", "run_shell_command", "grep_search", "list_directory"} <= names(offered)
    (reading,) = [tool for tool in offered if tool["name"] == "read_file"]
    assert [*reading["parametersJsonSchema"]["properties"]] == ["file_path", "start_line", "end_line"]
    parts = [part for content in body["contents"] for part in content["parts"]]
    said = [(part["functionCall"]["name"], part["functionCall"]["args"]) for part in parts if "functionCall" in part]
    assert said == [
        ("read_file", {"file_path": "a.txt"}),
        ("run_shell_command", {"command": "false"}),
        ("replace", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
        ("run_shell_command", {"command": "cat a.txt"}),
        ("apply_patch", {"patch": PATCH}),
        ("replace", {"file_path": "a.txt", "old_string": "three", "new_string": "four"}),
    ]
    told = [part["functionResponse"] for part in parts if "functionResponse" in part]
    assert told[0]["response"] == {"output": "one"}
    assert told[1]["response"] == {"error": "Output: \nExit Code: 1"}
    assert [each["name"] for each in told] == [name for name, _ in said]


async def test_anthropics_own_tools_are_named_and_not_described(tmp_path: Path) -> None:
    editor = "str_replace_based_edit_tool"
    inserted: dict[str, Any] = {"command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": "two\n"}
    script = [
        calls((editor, {"command": "view", "path": "a.txt"}), ("bash", {"command": "pwd"})),
        calls((editor, inserted)),
        {"text": "Done."},
    ]
    async with daemon(tmp_path, script, 'dialect = "anthropic"') as (house, client, sim):
        ended, seen = await turn(client, await session(house, client, "anthropic/claude-sonnet-4-5"))
        assert ended.reason == "done"
        assert (house.workspace / "a.txt").read_text() == "one\ntwo\n"
        assert [tool for tool, _ in made(seen)] == ["read_file", "shell", "apply_patch"]
        body = sim.requests[-1].json()
    accept_anthropic(body)
    assert {"type": "text_editor_20250728", "name": editor} in body["tools"]
    assert {"type": "bash_20250124", "name": "bash"} in body["tools"]
    blocks = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_use"]
    assert blocks[-1]["input"] == inserted | {"insert_text": "two"}


async def test_over_chat_completions_a_patch_is_an_argument(tmp_path: Path) -> None:
    script = [calls(("apply_patch", {"input": PATCH.replace("two", "one")})), {"text": "Done."}]
    async with daemon(tmp_path, script) as (house, client, sim):
        ended, _ = await turn(client, await session(house, client, "chat/gpt-5"))
        assert ended.reason == "done"
        assert (house.workspace / "a.txt").read_text() == "three\n"
        functions = [tool["function"] for tool in sim.requests[0].json()["tools"]]
    (patching,) = [function for function in functions if function["name"] == "apply_patch"]
    assert [*patching["parameters"]["properties"]] == ["input"]


async def test_rules_and_questions_speak_our_words_whatever_the_model_said(tmp_path: Path) -> None:
    rules = '[[rule]]\nname = "keep"\ndecision = "deny"\ntool = "shell"\ncommand = ["rm *"]\nreason = "not here"\n'
    script = [calls(("Bash", {"command": "rm a.txt"})), {"text": "Refused."}]
    async with daemon(tmp_path, script) as (house, client, sim):
        (house.home / "policy.toml").write_text(rules)
        ended, seen = await turn(client, await session(house, client, "anthropic/claude-sonnet-4-5"))
        assert ended.reason == "done"
        noted = [event for event in seen if isinstance(event, e.PermissionNoted)]
        assert [(event.tool, event.decision) for event in noted] == [("shell", "deny")]
        assert (house.workspace / "a.txt").exists()
        last = sim.requests[-1].json()["messages"][-1]["content"][0]
        assert "not here" in last["content"][0]["text"]


async def test_a_call_that_does_not_fit_is_told_of_in_the_words_that_were_offered(tmp_path: Path) -> None:
    script = [calls(("Read", {"file_path": "a.txt", "lineno": 3}), ("Nothing", {})), {"text": "Oh."}]
    async with daemon(tmp_path, script) as (house, client, sim):
        await turn(client, await session(house, client, "anthropic/claude-sonnet-4-5"))
        told = [block["content"][0]["text"] for block in sim.requests[-1].json()["messages"][-1]["content"]]
    assert told[0].startswith("The arguments of Read do not fit: Object contains unknown field `lineno`.")
    assert "It takes file_path, offset, limit" in told[0]
    assert "There are: Read, Write, Edit" in told[1]
