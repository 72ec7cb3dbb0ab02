"""Other agents' tools by our names, where one of ours does the same; whatever else they called keeps its name.

Only names and the arguments that have another name here stand in this table: arguments that we do not know stay, so
that nothing of a call is lost.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from openagent.protocol.messages import ToolCallPart
from openagent.protocol.origin import ForeignAgent


class Known(Struct, frozen=True):
    ours: str
    arguments: Mapping[str, str] = {}
    """Theirs to ours."""
    also: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What else has to be said in another way."""


def _seconds(arguments: dict[str, Any]) -> dict[str, Any]:
    timeout = arguments.get("timeout")
    return {**arguments, "timeout": timeout / 1000} if isinstance(timeout, int | float) else arguments


def _edits(arguments: dict[str, Any]) -> dict[str, Any]:
    names = {"old_string": "old", "new_string": "new", "replace_all": "all"}
    edits = arguments.get("edits")
    if not isinstance(edits, list):
        return arguments
    known = [_renamed(edit, names) for edit in edits if isinstance(edit, dict)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return {**arguments, "edits": known}


def _one_line(arguments: dict[str, Any]) -> dict[str, Any]:
    """A command given as a list of words, as a person would type it."""
    command = arguments.get("command")
    if not isinstance(command, list):
        return arguments
    words = [str(word) for word in command]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    in_a_shell = len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc")
    return {**arguments, "command": words[2] if in_a_shell else " ".join(words)}


_PATH = {"file_path": "path"}
_EDIT = {"file_path": "path", "old_string": "old", "new_string": "new", "replace_all": "all"}
_SHELL = Known("shell", also=_seconds)
_TOOLS: dict[ForeignAgent, dict[str, Known]] = {
    "claude": {
        "Bash": _SHELL,
        "Read": Known("read_file", {**_PATH, "offset": "start", "limit": "lines"}),
        "Write": Known("write_file", _PATH),
        "Edit": Known("edit_file", _EDIT),
        "MultiEdit": Known("edit_file", _PATH, _edits),
        "LS": Known("list_dir"),
        "Glob": Known("glob"),
        "Grep": Known("grep", {"-i": "ignore_case", "-C": "around"}),
        "WebFetch": Known("web_fetch"),
        "WebSearch": Known("web_search"),
        "TodoWrite": Known("todo", {"todos": "plan"}),
        "AskUserQuestion": Known("ask_user"),
        "Task": Known("agent", {"prompt": "task", "subagent_type": "template"}),
        "Agent": Known("agent", {"prompt": "task", "subagent_type": "template"}),
        "Skill": Known("skill", {"skill": "name"}),
    },
    "codex": {
        "exec_command": Known("shell", {"cmd": "command"}),
        "shell": Known("shell", also=lambda arguments: _seconds(_one_line(arguments))),
        "shell_command": _SHELL,
        "local_shell": Known("shell", also=_one_line),
        "apply_patch": Known("apply_patch", {"input": "patch"}),
        "update_plan": Known("todo"),
        "web_search": Known("web_search"),
        "request_user_input": Known("ask_user"),
        "spawn_agent": Known("agent", {"message": "task"}),
    },
    "gemini": {
        "run_shell_command": Known("shell"),
        "read_file": Known(
            "read_file", {**_PATH, "absolute_path": "path", "start_line": "start", "offset": "start", "limit": "lines"}
        ),
        "write_file": Known("write_file", _PATH),
        "replace": Known("edit_file", {**_EDIT, "allow_multiple": "all"}),
        "list_directory": Known("list_dir", {"dir_path": "path"}),
        "glob": Known("glob", {"dir_path": "path"}),
        "grep_search": Known("grep", {"dir_path": "path", "include_pattern": "glob", "include": "glob"}),
        "search_file_content": Known("grep", {"dir_path": "path", "include": "glob"}),
        "google_web_search": Known("web_search"),
        "web_fetch": Known("web_fetch"),
        "write_todos": Known("todo", {"todos": "plan"}),
        "ask_user": Known("ask_user"),
        "invoke_agent": Known("agent", {"prompt": "task", "agent_name": "template"}),
        "activate_skill": Known("skill"),
    },
    "opencode": {
        "bash": _SHELL,
        "read": Known("read_file", {"filePath": "path", "offset": "start", "limit": "lines"}),
        "write": Known("write_file", {"filePath": "path"}),
        "edit": Known("edit_file", {"filePath": "path", "oldString": "old", "newString": "new", "replaceAll": "all"}),
        "apply_patch": Known("apply_patch", {"patchText": "patch"}),
        "patch": Known("apply_patch", {"patchText": "patch"}),
        "list": Known("list_dir"),
        "glob": Known("glob"),
        "grep": Known("grep", {"include": "glob"}),
        "webfetch": Known("web_fetch"),
        "websearch": Known("web_search"),
        "todowrite": Known("todo", {"todos": "plan"}),
        "question": Known("ask_user"),
        "task": Known("agent", {"prompt": "task", "subagent_type": "template"}),
        "skill": Known("skill"),
    },
    "goose": {
        "developer__shell": Known("shell"),
        "shell": Known("shell", {"timeout_secs": "timeout"}),
        "write": Known("write_file"),
        "edit": Known("edit_file", {"before": "old", "after": "new"}),
        "tree": Known("list_dir"),
        "delegate": Known("agent", {"instructions": "task", "source": "template"}),
        "load_skill": Known("skill"),
        "todo__todo_write": Known("todo"),
    },
    "aider": {},
}


def call(agent: ForeignAgent, id: str, name: str, arguments: Any) -> ToolCallPart:  # noqa: A002
    known = _TOOLS[agent].get(name)
    if not isinstance(arguments, dict):
        return ToolCallPart(id, known.ours if known else name, {}, invalid_arguments=str(arguments)[:10_000])
    given: dict[str, Any] = {str(key): value for key, value in arguments.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if known is None:
        return ToolCallPart(id, name, given)
    given = known.also(given) if known.also else given
    return ToolCallPart(id, known.ours, _renamed(given, known.arguments))


def _renamed(arguments: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in arguments.items()}
