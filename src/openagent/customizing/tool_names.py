"""Our tools under the names, and their arguments under the keys, that existing hooks and commands know."""

import shlex
from collections.abc import Mapping
from typing import Any

from openagent.protocol.known_tools import KNOWN
from openagent.protocol.messages import ToolCallPart
from openagent.protocol.words import about


def theirs(tool: str) -> str:
    """`mcp__server__tool` is left as it is."""
    return next(iter(about(tool).known_as), tool)


def our_tools(name: str) -> list[str]:
    ours = [tool for tool, known in KNOWN.items() if name in known.known_as]
    return ours or [name]


def input_for_hooks(call: ToolCallPart, workspace: str) -> dict[str, Any]:
    """Both spellings of a key, so that hooks written for either find it; paths are absolute in theirs."""
    given: dict[str, Any] = {**call.arguments, **_as_command(call)}
    for ours, other in about(call.name).keys.items():
        if ours in given:
            value = given[ours]
            relative = other == "file_path" and isinstance(value, str) and not value.startswith("/")
            given[other] = f"{workspace}/{value}" if relative else value
    return given


def input_from_hooks(call: ToolCallPart, changed: Mapping[str, Any], workspace: str) -> dict[str, Any]:
    """What a hook wants the call to be made with, in our keys. Of a key it was shown twice, the changed one counts."""
    shown = input_for_hooks(call, workspace)
    ours = {other: key for key, other in about(call.name).keys.items()}
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
