"""Calls in any dialect are understood, whichever was offered; what a model is told comes in its own words."""

from pathlib import Path
from typing import Any

import pytest

from openagent.dialects.families import DIALECTS, dialect_of
from openagent.dialects.tongue import Tongue, Tongues
from openagent.plugins.provider import Answer, CallChunk, ModelRequest, ToolSchema
from openagent.protocol.display import Display
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.usage import Usage
from openagent.protocol.words import about

from .ours import SCHEMAS, TOOLS

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch"
THEIRS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("Read", {"file_path": "/w/a", "offset": 3, "limit": 2}, "read_file", {"path": "/w/a", "start": 3, "lines": 2}),
    ("read_file", {"file_path": "a", "start_line": 3, "end_line": 4}, "read_file",
     {"path": "a", "start": 3, "lines": 2}),
    ("read", {"filePath": "a", "limit": 2}, "read_file", {"path": "a", "lines": 2}),
    ("view_image", {"path": "a.png"}, "read_file", {"path": "a.png"}),
    ("Write", {"file_path": "a", "content": "x"}, "write_file", {"path": "a", "content": "x"}),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True}, "edit_file",
     {"path": "a", "old": "x", "new": "y", "all": True}),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}, "edit_file",
     {"path": "a", "edits": [{"old": "x", "new": "y"}]}),
    ("replace", {"file_path": "a", "instruction": "why", "old_string": "x", "new_string": "y"}, "edit_file",
     {"path": "a", "old": "x", "new": "y"}),
    ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, "edit_file", {"path": "a", "old": "x", "new": "y"}),
    ("Bash", {"command": "ls", "timeout": 5000, "description": "List"}, "shell", {"command": "ls", "timeout": 5.0}),
    ("bash", {"command": "ls", "workdir": "/w/it's"}, "shell", {"command": "(cd -- '/w/it'\"'\"'s' && {\nls\n})"}),
    ("exec_command", {"cmd": "ls", "yield_time_ms": 1000, "login": True}, "shell", {"command": "ls"}),
    ("shell", {"command": ["bash", "-lc", "ls | wc"], "timeout_ms": 900}, "shell",
     {"command": "ls | wc", "timeout": 0.9}),
    ("shell", {"command": ["pwd"], "timeout": 900}, "shell", {"command": "pwd", "timeout": 0.9}),
    ("shell", {"command": ["git", "log", "--format=%an %s"]}, "shell", {"command": "git log '--format=%an %s'"}),
    ("run_shell_command", {"command": "ls", "description": "List"}, "shell", {"command": "ls"}),
    ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n", "workdir": "/w"}, "apply_patch",
     {"patch": PATCH.replace("a.txt", "/w/a.txt")}),
    ("shell", {"command": ["apply_patch", PATCH]}, "apply_patch", {"patch": PATCH}),
    ("apply_patch", {"input": PATCH}, "apply_patch", {"patch": PATCH}),
    ("write_stdin", {"session_id": 3, "chars": ""}, "shell_output", {"id": "bg3"}),
    ("KillShell", {"shell_id": "bg3"}, "shell_output", {"id": "bg3", "action": "kill"}),
    ("Grep", {"pattern": "x", "-A": 2, "-n": True, "type": "py"}, "grep",
     {"pattern": "x", "mode": "files", "glob": "*.{py,pyi}", "around": 2}),
    ("grep_search", {"pattern": "x", "dir_path": "src", "names_only": True}, "grep",
     {"pattern": "x", "path": "src", "ignore_case": True, "mode": "files"}),
    ("LS", {"path": "src"}, "list_dir", {"path": "src"}),
    ("list_directory", {"dir_path": "src"}, "list_dir", {"path": "src"}),
    ("TodoWrite", {"todos": [{"content": "a", "status": "in_progress", "activeForm": "b"}]}, "todo",
     {"plan": [{"text": "a", "state": "active"}]}),
    ("update_plan", {"explanation": "why", "plan": [{"step": "a", "status": "completed"}]}, "todo",
     {"plan": [{"text": "a", "state": "done"}]}),
    ("AskUserQuestion", {"questions": [{"question": "Which?", "header": "h", "options": [{"label": "a"}]}]}, "ask_user",
     {"question": "Which?", "choices": ["a"]}),
    ("WebFetch", {"url": "http://x", "prompt": "what"}, "web_fetch", {"url": "http://x"}),
    ("web_fetch", {"prompt": "Read <https://x.example/a>, please"}, "web_fetch", {"url": "https://x.example/a"}),
    ("Task", {"description": "d", "prompt": "p", "subagent_type": "Explore"}, "agent",
     {"tasks": [{"template": "researcher", "task": "p"}]}),
    ("str_replace_based_edit_tool", {"command": "view", "path": "a", "view_range": [2, -1]}, "read_file",
     {"path": "a", "start": 2}),
    ("str_replace_based_edit_tool", {"command": "insert", "path": "a", "insert_line": 0, "insert_text": "x\ny\n"},
     "apply_patch", {"patch": "--- a/a\n+++ a/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"}),
    ("str_replace_editor", {"command": "create", "path": "a", "file_text": "x"}, "write_file",
     {"path": "a", "content": "x"}),
]  # fmt: skip


def heard(tongue: Tongue, name: str, arguments: dict[str, Any], *, tools: list[ToolSchema] = SCHEMAS) -> ToolCallPart:
    answer = tongue.heard(Answer([ToolCallPart("c1", name, arguments)], "tool_calls", Usage(), "m"), tools)
    (part,) = answer.parts
    assert isinstance(part, ToolCallPart)
    return part


@pytest.mark.parametrize("offered", sorted(DIALECTS))
def test_every_dialect_is_understood_whichever_was_offered(offered: str) -> None:
    tongue = Tongue(DIALECTS[offered])
    for name, given, tool, arguments in THEIRS:
        call = heard(tongue, name, given)
        assert (call.name, call.arguments) == (tool, arguments), f"{name} while {offered} was offered"
        assert TOOLS[tool].check(arguments) is None
        assert tongue.announced(CallChunk("c1", name), SCHEMAS).name in TOOLS


@pytest.mark.parametrize("offered", sorted(DIALECTS))
def test_our_own_words_are_always_understood(offered: str) -> None:
    for arguments in ({"command": "ls", "timeout": 5.0}, {"command": "ls", "leave": ["x:1"], "justification": "why"}):
        assert heard(Tongue(DIALECTS[offered]), "shell", arguments).arguments == arguments
    read = {"path": "a", "start": 2}
    assert heard(Tongue(DIALECTS[offered]), "read_file", read).arguments == read


def test_tools_of_plugins_and_servers_go_through_as_they_are() -> None:
    """Even one that has a name which a dialect has for one of ours."""
    parameters = {"type": "object", "properties": {"file_path": {"type": "string"}}}
    theirs = [ToolSchema("mcp__files__read_file", "x", parameters), ToolSchema("Read", "y", parameters)]
    tongue = Tongue(DIALECTS["claude-code"])
    offered = tongue.request(ModelRequest("m", "", [], [*SCHEMAS, *theirs])).tools
    assert [tool for tool in offered if tool in theirs] == theirs
    assert "read_file" in [tool.name for tool in offered]
    for tool in theirs:
        call = heard(tongue, tool.name, {"file_path": "a"}, tools=[*SCHEMAS, *theirs])
        assert (call.name, call.arguments) == (tool.name, {"file_path": "a"})


def test_what_a_family_does_with_another_tool_is_offered_where_that_one_is_not() -> None:
    tongue = Tongue(DIALECTS["codex"])
    everything = [tool.name for tool in tongue.request(ModelRequest("m", "", [], SCHEMAS)).tools]
    assert {"exec_command", "apply_patch", "read_file", "update_plan", "agent"} <= {*everything}
    assert not {"grep", "glob", "edit_file", "write_file", "git"} & {*everything}
    reading = [TOOLS[name].schema for name in ("read_file", "grep", "glob")]
    assert [tool.name for tool in tongue.request(ModelRequest("m", "", [], reading)).tools] == [
        "read_file", "grep", "glob"
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_dialect_costs_no_more_tokens_than_our_own_words(name: str) -> None:
    def size(dialect: str) -> int:
        offered = Tongue(DIALECTS[dialect]).request(ModelRequest("m", "", [], SCHEMAS)).tools
        return sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in offered)

    assert size(name) <= size("own")


def test_schemas_are_translated_once() -> None:
    tongue = Tongue(DIALECTS["gemini"])
    requests = [tongue.request(ModelRequest("m", "p", [], list(SCHEMAS))) for _ in range(2)]
    assert requests[0].tools is requests[1].tools


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("claude-sonnet-5-5", "claude-code"),
        ("anthropic/claude-opus-4.1", "claude-code"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-code"),
        ("gpt-5-codex", "codex"),
        ("openai/gpt-4.1-mini", "codex"),
        ("o3", "codex"),
        ("gpt-4o", "own"),
        ("gemini-3-pro-preview", "gemini"),
        ("qwen3-coder", "own"),
        ("scripted", "own"),
    ],
)
def test_a_models_name_tells_its_family(model: str, dialect: str) -> None:
    assert dialect_of(model, None, {}).name == dialect


def test_a_setting_comes_before_the_family_and_one_of_a_model_before_its_providers() -> None:
    tongues = Tongues("own", {"qwen*": "opencode", "*": "anthropic"})
    wire = {"text_tools": True, "vendor_tools": True}
    assert tongues.of("qwen3-coder", **wire).dialect.name == "opencode"
    assert tongues.of("gpt-5", **wire).dialect.name == "anthropic"
    assert Tongues("own").of("claude-opus-5", **wire).dialect.name == "own"


def told(dialect: str, call: ToolCallPart, result: ToolResultPart) -> tuple[str, str]:
    tongue = Tongue(DIALECTS[dialect])
    (said,) = tongue.message(Message(2, "assistant", [call])).tool_calls
    shown = tongue.result(call, said, result)
    return shown.name, shown.text


def test_results_have_the_form_that_the_family_knows() -> None:
    run = ToolCallPart("c1", "shell", {"command": "false"})
    failed = ToolResultPart(
        "c1",
        "shell",
        "oh\n[exit code 1]",
        is_error=True,
        display=Display(exit_code=1, summary="exit 1"),
        duration_ms=1500,
    )
    assert told("claude-code", run, failed) == ("Bash", "Exit code 1\noh")
    assert told("codex", run, failed) == (
        "exec_command", "Wall time: 1.5000 seconds\nProcess exited with code 1\nOutput:\noh"
    )  # fmt: skip
    assert told("gemini", run, failed) == ("run_shell_command", "Output: oh\nExit Code: 1")
    read, page = ToolCallPart("c1", "read_file", {"path": "a"}), ToolResultPart("c1", "read_file", "1\ta\n2\t7\tb")
    assert told("claude-code", read, page) == ("Read", "1\ta\n2\t7\tb")
    assert told("gemini", read, page) == ("read_file", "a\n7\tb")
    assert told("opencode", read, page) == ("read", "1: a\n2: 7\tb")
    patch = ToolCallPart("c1", "apply_patch", {"patch": PATCH})
    assert told("codex", patch, ToolResultPart("c1", "apply_patch", "Done:\nA a.txt")) == (
        "apply_patch", "Success. Updated the following files:\nA a.txt"
    )  # fmt: skip


def test_what_went_wrong_is_told_in_the_words_that_were_offered() -> None:
    call = ToolCallPart("c1", "edit_file", {"path": "a", "old": "", "new": "x"})
    empty = "The text to replace is empty. Use write_file to write a whole file. Nothing was written."
    assert "Use Write to" in told("claude-code", call, ToolResultPart("c1", "edit_file", empty, is_error=True))[1]
    wrong = "The arguments of edit_file do not fit: Object missing required field `path`. It takes path, old, new."
    said = told("claude-code", call, ToolResultPart("c1", "edit_file", wrong, is_error=True))[1]
    assert said.startswith("The arguments of Edit do not fit: Object missing required field `file_path`.")
    assert said.endswith("It takes file_path, old_string, new_string.")
    printed = "use read_file here"
    run = ToolCallPart("c1", "shell", {"command": "cat docs"})
    assert told("claude-code", run, ToolResultPart("c1", "shell", printed))[1] == printed, "what a file says stays"


def test_the_prompt_names_tools_as_they_are_offered() -> None:
    prompt = "Use `read_file`, `edit_file` and `shell`; a `mcp__x__read_file` is another, and so is the word shell."
    request = ModelRequest("m", prompt, [], SCHEMAS)
    rest = "a `mcp__x__read_file` is another, and so is the word shell."
    assert Tongue(DIALECTS["claude-code"]).request(request).system == f"Use `Read`, `Edit` and `Bash`; {rest}"
    codex = Tongue(DIALECTS["codex"]).request(request).system
    assert codex == f"Use `read_file`, `apply_patch` and `exec_command`; {rest}"


def test_the_handbook_has_every_name_that_is_offered() -> None:
    page = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    heads = ["claude-code", "codex", "gemini", "opencode", "anthropic"]
    table = {row[0].strip(" `"): dict(zip(heads, row[1:], strict=False)) for row in rows if len(row) == len(heads) + 1}
    for head in heads:
        for term in DIALECTS[head].terms:
            if term.offered and term.name != term.tool:
                assert f"`{term.name}`" in table[term.tool][head], (head, term.name)


def test_hooks_and_the_dialect_know_claude_codes_tools_by_the_same_names() -> None:
    for term in DIALECTS["claude-code"].terms:
        if term.offered:
            assert term.name in about(term.tool).known_as, term.name
