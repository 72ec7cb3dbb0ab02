"""Hooks as other agents' files have them: the same thing under other events, keys and units."""

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from openagent.protocol.customizing import HookForm

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
)
NOTIFY = "agent-turn-complete"
"""What codex calls its `notify` program for."""
_GEMINI = {
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "Notification": "Notification",
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "PreCompress": "PreCompact",
}
_COPILOT = {
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "agentStop": "Stop",
    "subagentStop": "SubagentStop",
    "errorOccurred": "StopFailure",
}
_THEIRS: Mapping[HookForm, Mapping[str, str]] = {"gemini": _GEMINI, "copilot": _COPILOT}
_GEMINI_TOOLS = {
    "shell": "run_shell_command",
    "edit_file": "replace",
    "list_dir": "list_directory",
    "grep": "grep_search",
    "web_search": "google_web_search",
    "todo": "write_todos",
    "skill": "activate_skill",
}
_USED = frozenset({"type", "command", "args", "timeout", "async", "name", "description", "statusMessage", "if", "once"})


class Group(Struct, frozen=True):
    """What one matcher lets run."""

    hooks: list[dict[str, Any]]
    matcher: str = ""


class Written(Struct, frozen=True):
    """One hook, whatever file it stood in."""

    command: str
    timeout: float
    waits: bool = True
    only_if: str = ""
    once: bool = False
    unused: list[str] = []


def our_event(event: str, form: HookForm) -> str:
    """Empty for one that never happens here."""
    if form in _THEIRS:
        return _THEIRS[form].get(event, "")
    return event if event in EVENTS else ""


def groups_of(given: Any, form: HookForm) -> list[Group]:
    """Raises msgspec.ValidationError. Copilot's hooks stand there without a matcher."""
    if form == "copilot":
        return [Group(msgspec.convert(given, list[dict[str, Any]]))]
    return msgspec.convert(given, list[Group])


def written(hook: Mapping[str, Any], form: HookForm, usual: float) -> Written | None:
    """None for one that is no command. Raises msgspec.ValidationError."""
    if hook.get("type", "command") != "command":
        return None
    if form == "copilot":
        command = msgspec.convert(hook.get("bash") or hook.get("command") or "", str)
        folder = msgspec.convert(hook.get("cwd") or "", str)
        env = msgspec.convert(hook.get("env") or {}, dict[str, str])
        before = "".join(f"export {name}={shlex.quote(value)}; " for name, value in env.items() if name.isidentifier())
        place = f"cd {shlex.quote(folder)} && " if folder else ""
        timeout = msgspec.convert(hook.get("timeoutSec") or 30, float, strict=False)
        return Written(f"{before}{place}{command}" if command.strip() else "", timeout)
    command = msgspec.convert(hook.get("command") or "", str)
    if args := msgspec.convert(hook.get("args") or [], list[str]):
        command = shlex.join([command, *args])
    given = msgspec.convert(hook.get("timeout") or 0, float, strict=False)
    timeout = (given / 1000 if form == "gemini" else given) or usual
    unused = [key for key in hook if key not in _USED]
    only_if = msgspec.convert(hook.get("if") or "", str).strip()
    return Written(command, timeout, not hook.get("async", False), only_if, hook.get("once") is True, unused)


def known_tool(tool: str, form: HookForm, usual: str) -> str:
    """What a hook of that form calls the tool."""
    return _GEMINI_TOOLS.get(tool, tool) if form == "gemini" else usual


def told(facts: Mapping[str, Any], form: HookForm, event: str, tool: str) -> dict[str, Any]:
    """What a hook reads on its stdin, in its own words."""
    said = {**facts, "hook_event_name": event}
    match form:
        case "gemini":
            if tool:
                said["tool_name"] = known_tool(tool, form, tool)
            if "last_assistant_message" in facts:
                said["prompt_response"] = facts["last_assistant_message"]
        case "copilot":
            if tool:
                arguments = msgspec.json.encode(facts.get("tool_input", {})).decode()
                said |= {"toolName": facts["tool_name"], "toolArgs": arguments}
        case _:
            pass
    return said


def folders(workspace: str, session: str, form: HookForm, root: str) -> dict[str, str]:
    """Its environment says where it works."""
    env = {"CLAUDE_PROJECT_DIR": workspace, "OPENAGENT_PROJECT_DIR": workspace}
    if form == "gemini":
        env |= {"GEMINI_PROJECT_DIR": workspace, "GEMINI_CWD": workspace, "GEMINI_SESSION_ID": session}
    return env | ({"CLAUDE_PLUGIN_ROOT": root, "extensionPath": root} if root else {})
