"""Hooks as they stand in files, in the format of Claude Code's settings:

{"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "…", "timeout": 10}]}]}}
"""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from openagent.config.cache import RECHECK_SECONDS, stamp_of
from openagent.config.untrusted import distrust
from openagent.customizing.files import read_text
from openagent.customizing.folders import CustomFolders
from openagent.customizing.tool_names import theirs
from openagent.protocol.customizing import Hook, Origin
from openagent.protocol.errors import OpenAgentError

FILE = "hooks.json"
CLAUDE_FILE = Path(".claude", "settings.json")
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)
MAX_FILE = 1 << 20
MAX_HOOKS = 200
MAX_TIMEOUT = 600.0
_LONGEST_MATCHER = 500


class _Command(Struct, frozen=True):
    type: str = "command"
    command: str = ""
    timeout: float = 60.0


class _Group(Struct, frozen=True):
    hooks: list[_Command]
    matcher: str = ""


class FoundHooks(Struct, frozen=True):
    by_event: dict[str, list[Hook]]
    problems: list[str]

    @property
    def hooks(self) -> list[Hook]:
        return [hook for hooks in self.by_event.values() for hook in hooks]


class _Cached(Struct):
    found: FoundHooks
    stamp: object
    checked: float


class HookFiles:
    def __init__(self, folders: CustomFolders) -> None:
        self._folders = folders
        self._cache: dict[Path | None, _Cached] = {}

    def find(self, workspace: Path | None) -> FoundHooks:
        """Looks at the files once a second at most."""
        cached, now = self._cache.get(workspace), time.monotonic()
        if cached is not None and now - cached.checked < RECHECK_SECONDS:
            return cached.found
        files = self._files(workspace)
        trusted = workspace is not None and any(o == "project" for _, o in files) and self._folders.trusts(workspace)
        stamp = stamp_of(*(file for file, _ in files)), tuple(files), trusted
        if cached is None or cached.stamp != stamp:
            cached = _Cached(self._read(files, workspace, trusted), stamp, now)
        cached.checked = now
        self._cache[workspace] = cached
        return cached.found

    def of(self, event: str, workspace: Path) -> list[Hook]:
        return self.find(workspace).by_event.get(event, [])

    def _files(self, workspace: Path | None) -> list[tuple[Path, Origin]]:
        claude = self._reads_claude(workspace)
        files: list[tuple[Path, Origin]] = [(self._folders.own / FILE, "user")]
        if claude:
            files.append((self._folders.home / CLAUDE_FILE, "user"))
        if workspace is not None:
            folder = self._folders.project(workspace)
            files.append((folder / ".openagent" / FILE, "project"))
            if claude and folder != self._folders.home:
                files.append((folder / CLAUDE_FILE, "project"))
        return [(file, origin) for file, origin in files if file.is_file()]

    def _reads_claude(self, workspace: Path | None) -> bool:
        try:
            return self._folders.configs.load(workspace).settings.hooks.claude_settings
        except OpenAgentError:
            return False

    def _read(self, files: Sequence[tuple[Path, Origin]], workspace: Path | None, trusted: bool) -> FoundHooks:
        by_event: dict[str, list[Hook]] = {}
        problems: list[str] = []
        for file, origin in files:
            if origin == "project" and not trusted:
                assert workspace is not None
                problems.append(f"{file}: its hooks are left out, {distrust(self._folders.project(workspace))}")
                continue
            for hook in self._hooks(file, origin, problems):
                if hook not in by_event.setdefault(hook.event, []) and len(by_event[hook.event]) < MAX_HOOKS:
                    by_event[hook.event].append(hook)
        return FoundHooks(by_event, problems)

    def _hooks(self, file: Path, origin: Origin, problems: list[str]) -> list[Hook]:
        hooks: list[Hook] = []
        try:
            read = read_text(file, within=None, limit=MAX_FILE)
            if read.cut:
                raise OpenAgentError("config_error", f"it is larger than {MAX_FILE >> 20} MB.")
            content = msgspec.json.decode(read.text, type=dict[str, Any])
            given = msgspec.convert(content.get("hooks", {}), dict[str, Any])
        except OpenAgentError as problem:
            problems.append(f"{file}: {problem.info.message}")
            return []
        except (msgspec.DecodeError, RecursionError) as problem:
            problems.append(f"{file}: {problem}.")
            return []
        for event, groups in given.items():
            if event not in EVENTS:
                problems.append(f"{file}: there is no event {event[:60]!r} here. There are {', '.join(EVENTS)}.")
                continue
            try:
                for group in msgspec.convert(groups, list[_Group]):
                    hooks += self._group(event, group, file, origin, problems)
            except msgspec.ValidationError as problem:
                problems.append(f"{file}: {event}: {problem}.")
        return hooks

    def _group(self, event: str, group: _Group, file: Path, origin: Origin, problems: list[str]) -> list[Hook]:
        if group.matcher not in ("", "*"):
            try:
                if len(group.matcher) > _LONGEST_MATCHER:
                    raise re.error("it is too long")
                re.compile(group.matcher)
            except re.error as problem:
                problems.append(f"{file}: the matcher {group.matcher[:60]!r} is no regular expression: {problem}.")
                return []
        hooks: list[Hook] = []
        for each in group.hooks:
            if each.type != "command" or not each.command.strip():
                problems.append(f"{file}: {event}: a hook of type {each.type[:40]!r} is left out; commands are run.")
                continue
            timeout = each.timeout if 0 < each.timeout <= MAX_TIMEOUT else MAX_TIMEOUT
            hooks.append(Hook(event, each.command, group.matcher, timeout, origin, str(file)))
        return hooks


def meets(hook: Hook, subject: str) -> bool:
    """A tool's matcher meets our name for it as well as the one hooks know; others meet what happened."""
    if hook.matcher in ("", "*"):
        return True
    return any(re.fullmatch(hook.matcher, name) for name in {subject, theirs(subject)})
