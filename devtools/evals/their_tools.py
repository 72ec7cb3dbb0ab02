"""Calls of other agents' tools as calls of ours."""

import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Any

Given = Mapping[str, Any]
Made = tuple[str, dict[str, Any]]

LONGEST_COMMAND = 20.0
"""Seconds. What a recorded command waited for (a server, a container) is mostly not there."""
_GREP_MODES = {"content": "lines", "files_with_matches": "files", "count": "count"}
_PLAN_STATES = {"pending": "pending", "in_progress": "active", "completed": "done"}


def mapped(name: str, given: Given, known: Collection[str] = ()) -> Made | None:
    """None when nothing here does the like."""
    if name in known and name not in _AMBIGUOUS:
        return name, dict(given)
    make = _MAPS.get(name)
    try:
        return make(given) if make is not None else None
    except (KeyError, TypeError, ValueError, IndexError):  # a call that its own agent refused as well
        return None


def _some(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value not in (None, "", False)}


def _bash(given: Given) -> Made:
    seconds = float(given.get("timeout") or 120_000) / 1000
    return "shell", {"command": given["command"], "timeout": min(seconds, LONGEST_COMMAND)}


def _read(given: Given) -> Made:
    return "read_file", {
        "path": given["file_path"],
        **_some(start=given.get("offset"), lines=given.get("limit")),
    }


def _edit(given: Given) -> Made:
    return "edit_file", {"path": given["file_path"], **_one_edit(given)}


def _one_edit(given: Given) -> dict[str, Any]:
    return {"old": given["old_string"], "new": given["new_string"], "all": bool(given.get("replace_all"))}


def _multi_edit(given: Given) -> Made:
    return "edit_file", {"path": given["file_path"], "edits": [_one_edit(edit) for edit in given["edits"]]}


def _write(given: Given) -> Made:
    return "write_file", {"path": given["file_path"], "content": given["content"]}


def _glob(given: Given) -> Made:
    return "glob", {"pattern": given["pattern"], **_some(path=given.get("path"))}


def _grep(given: Given) -> Made:
    around = max(int(given.get(flag) or 0) for flag in ("-A", "-B", "-C"))
    return "grep", {
        "pattern": given["pattern"],
        "mode": _GREP_MODES.get(str(given.get("output_mode") or "files_with_matches"), "lines"),
        **_some(
            path=given.get("path"), glob=given.get("glob"), ignore_case=bool(given.get("-i")), around=around or None
        ),
    }


def _todos(given: Given) -> Made:
    plan = [{"text": each["content"], "state": _PLAN_STATES.get(each["status"], "pending")} for each in given["todos"]]
    return "todo", {"plan": plan}


def _task(given: Given) -> Made:
    template = "researcher" if str(given.get("subagent_type", "")).lower() in ("explore", "plan") else "coder"
    return "agent", {"tasks": [{"template": template, "task": given["prompt"]}]}


def _question(given: Given) -> Made:
    first = given["questions"][0]
    return "ask_user", {"question": first["question"], "choices": [option["label"] for option in first["options"]]}


def _exec(given: Given) -> Made:
    command: Any = given.get("cmd") or given["command"]
    if isinstance(command, list):
        words = [str(word) for word in command]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        in_bash = len(words) == 3 and words[0].endswith("sh") and words[1] in ("-c", "-lc")
        command = words[2] if in_bash else shlex.join(words)
    folder = given.get("workdir")
    return "shell", {
        "command": f"cd {shlex.quote(str(folder))} && {{ {command}\n}}" if folder else command,
        "timeout": min(float(given.get("timeout") or LONGEST_COMMAND), LONGEST_COMMAND),
    }


def _patch(given: Given) -> Made:
    return "apply_patch", {"patch": given.get("input") or given["patch"]}


def _update_plan(given: Given) -> Made:
    plan = [{"text": each["step"], "state": _PLAN_STATES.get(each["status"], "pending")} for each in given["plan"]]
    return "todo", {"plan": plan}


_MAPS: dict[str, Callable[[Given], Made]] = {
    # Claude Code
    "Bash": _bash,
    "BashOutput": lambda _: ("shell_output", {}),
    "Read": _read,
    "Edit": _edit,
    "MultiEdit": _multi_edit,
    "Write": _write,
    "Glob": _glob,
    "Grep": _grep,
    "LS": lambda given: ("list_dir", {"path": given["path"]}),
    "TodoWrite": _todos,
    "WebFetch": lambda given: ("web_fetch", {"url": given["url"]}),
    "WebSearch": lambda given: ("web_search", {"query": given["query"]}),
    "Task": _task,
    "Agent": _task,
    "AskUserQuestion": _question,
    "Skill": lambda given: ("skill", {"name": given.get("skill") or given["command"]}),
    # codex
    "exec_command": _exec,
    "shell": _exec,
    "shell_command": _exec,
    "container.exec": _exec,
    "apply_patch": _patch,
    "update_plan": _update_plan,
    "view_image": lambda given: ("read_file", {"path": given["path"]}),
}
_AMBIGUOUS = frozenset({"shell", "apply_patch"})
"""Names that both sides have, with arguments that the map understands either way."""
