"""Our tools under the names, and their arguments under the keys, that existing hooks and commands know."""

import shlex
from collections.abc import Mapping
from typing import Any

from openagent.protocol.messages import ToolCallPart

THEIRS: dict[str, str] = {
    "shell": "Bash",
    "shell_output": "BashOutput",
    "execute_code": "Bash",
    "git": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "apply_patch": "MultiEdit",
    "list_dir": "LS",
    "glob": "Glob",
    "grep": "Grep",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "ask_user": "AskUserQuestion",
    "todo": "TodoWrite",
    "skill": "Skill",
}
_KEYS: dict[str, dict[str, str]] = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path", "old": "old_string", "new": "new_string"},
    "todo": {"plan": "todos"},
}
"""Ours to theirs, where they differ."""


def theirs(tool: str) -> str:
    """`mcp__server__tool` is left as it is."""
    return THEIRS.get(tool, tool)


def our_tools(name: str) -> list[str]:
    ours = [tool for tool, other in THEIRS.items() if other == name]
    return ours or [name]


def input_for_hooks(call: ToolCallPart, workspace: str) -> dict[str, Any]:
    """Both spellings of a key, so that hooks written for either find it; paths are absolute in theirs."""
    given: dict[str, Any] = {**call.arguments, **_as_command(call)}
    for ours, other in _KEYS.get(call.name, {}).items():
        if ours in given:
            value = given[ours]
            relative = other == "file_path" and isinstance(value, str) and not value.startswith("/")
            given[other] = f"{workspace}/{value}" if relative else value
    return given


def input_from_hooks(call: ToolCallPart, changed: Mapping[str, Any], workspace: str) -> dict[str, Any]:
    """What a hook wants the call to be made with, in our keys. Of a key it was shown twice, the changed one counts."""
    shown = input_for_hooks(call, workspace)
    ours = {other: key for key, other in _KEYS.get(call.name, {}).items()}
    arguments = {key: value for key, value in changed.items() if key not in ours and key not in _as_command(call)}
    for other, key in ours.items():
        if other in changed and changed[other] != shown.get(other):
            arguments[key] = changed[other]
        elif other in changed and key in call.arguments:
            arguments.setdefault(key, call.arguments[key])
    return arguments


def _as_command(call: ToolCallPart) -> dict[str, str]:
    """Hooks that look at commands see those of tools that take them in another form."""
    if call.name == "git":
        words = [str(call.arguments.get("subcommand", "")), *map(str, call.arguments.get("args", ()))]
        return {"command": shlex.join(["git", *words])}
    return {"command": str(call.arguments.get("code", ""))} if call.name == "execute_code" else {}
