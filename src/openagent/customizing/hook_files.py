"""Hooks as they stand in files, in the format of Claude Code's settings:

{"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "…", "timeout": 10}]}]}}
"""

import re
import shlex
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from openagent.config.cache import RECHECK_SECONDS, stamp_of
from openagent.config.settings import HookSettings
from openagent.config.untrusted import distrust
from openagent.customizing import hook_conditions
from openagent.customizing.files import read_text
from openagent.customizing.folders import CustomFolders
from openagent.customizing.hook_forms import EVENTS, NOTIFY, Group, groups_of, known_tool, our_event, written
from openagent.customizing.tool_names import theirs
from openagent.protocol.customizing import Hook, HookForm, Origin
from openagent.protocol.errors import OpenAgentError

FILE = "hooks.json"
MAX_FILE = 1 << 20
MAX_HOOKS = 200
MAX_TIMEOUT = 600.0
USUAL_TIMEOUT = 60.0
_LONGEST_MATCHER = 500


class _File(NamedTuple):
    path: Path
    origin: Origin
    form: HookForm = "own"
    root: str = ""
    """The folder of the plugin that brings it."""


class FoundHooks(Struct, frozen=True):
    by_event: dict[str, list[Hook]]
    problems: list[str]
    asleep: list[str] = []
    """Files of other agents that no setting asks for."""

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

    def find(self, workspace: Path | None, *, anew: bool = False) -> FoundHooks:
        """Looks at the files once a second at most, unless somebody wants to know which there are at this moment."""
        cached, now = self._cache.get(workspace), time.monotonic()
        if not anew and cached is not None and now - cached.checked < RECHECK_SECONDS:
            return cached.found
        files = self._files(workspace)
        settings = self._settings(workspace)
        trusted = (
            workspace is not None and any(f.origin == "project" for f in files) and self._folders.trusts(workspace)
        )
        stamp = stamp_of(*(file.path for file in files)), tuple(files), trusted, settings
        if cached is None or cached.stamp != stamp:
            asked = [file for file in files if _is_asked_for(file, settings)]
            found = self._read(asked, workspace, trusted)
            asleep = [_asleep(file) for file in files if file not in asked]
            cached = _Cached(msgspec.structs.replace(found, asleep=asleep), stamp, now)
        cached.checked = now
        self._cache[workspace] = cached
        return cached.found

    def of(self, event: str, workspace: Path) -> list[Hook]:
        return self.find(workspace).by_event.get(event, [])

    def _files(self, workspace: Path | None) -> list[_File]:
        home = self._folders.home
        files = [_File(self._folders.own / FILE, "user"), *_of_others(home, "user")]
        files.append(_File(home / ".codex" / "config.toml", "user", "codex"))
        plugins = self._folders.plugins()
        files += [_File(plugin.hooks_file, "user", plugin.form, str(plugin.folder)) for plugin in plugins]
        if workspace is not None:
            folder = self._folders.project(workspace)
            files.append(_File(folder / ".openagent" / FILE, "project"))
            if folder != home:
                files += _of_others(folder, "project")
        return [file for file in files if file.path.is_file()]

    def _settings(self, workspace: Path | None) -> HookSettings:
        try:
            return self._folders.configs.load(workspace).settings.hooks
        except OpenAgentError:
            return HookSettings()

    def _read(self, files: Sequence[_File], workspace: Path | None, trusted: bool) -> FoundHooks:
        by_event: dict[str, list[Hook]] = {}
        problems: list[str] = []
        for file in files:
            if file.origin == "project" and not trusted:
                assert workspace is not None
                problems.append(f"{file.path}: its hooks are left out, {distrust(self._folders.project(workspace))}")
                continue
            for hook in self._hooks(file, problems):
                if hook not in by_event.setdefault(hook.event, []) and len(by_event[hook.event]) < MAX_HOOKS:
                    by_event[hook.event].append(hook)
        return FoundHooks(by_event, list(dict.fromkeys(problems)))

    def _hooks(self, file: _File, problems: list[str]) -> list[Hook]:
        hooks: list[Hook] = []
        try:
            read = read_text(file.path, within=None, limit=MAX_FILE)
            if read.cut:
                raise OpenAgentError("config_error", f"it is larger than {MAX_FILE >> 20} MB.")
            if file.path.suffix == ".toml":
                return _notify(file, read.text, problems)
            content = msgspec.json.decode(read.text, type=dict[str, Any])
            given = msgspec.convert(content.get("hooks", {}), dict[str, Any])
        except OpenAgentError as problem:
            problems.append(f"{file.path}: {problem.info.message}")
            return []
        except (ValueError, RecursionError) as problem:
            problems.append(f"{file.path}: {problem}.")
            return []
        if content.get("disableAllHooks") is True:
            problems.append(f"{file.path}: it switches all its hooks off.")
            return []
        for event, groups in given.items():
            ours = our_event(event, file.form)
            if not ours and not isinstance(groups, list):
                continue  # gemini-cli keeps switches among them
            if not ours:
                known = f" There are {', '.join(EVENTS)}." if file.form == "own" else " Its hooks are not run."
                problems.append(f"{file.path}: there is no event {event[:60]!r} here.{known}")
                continue
            try:
                for group in groups_of(groups, file.form):
                    hooks += self._group(ours, event, group, file, problems)
            except msgspec.ValidationError as problem:
                problems.append(f"{file.path}: {event}: {problem}.")
        return hooks

    def _group(self, ours: str, event: str, group: Group, file: _File, problems: list[str]) -> list[Hook]:
        if group.matcher not in ("", "*"):
            try:
                if len(group.matcher) > _LONGEST_MATCHER:
                    raise re.error("it is too long")
                re.compile(group.matcher)
            except re.error as problem:
                problems.append(f"{file.path}: the matcher {group.matcher[:60]!r} is no regular expression: {problem}.")
                return []
        hooks: list[Hook] = []
        for each in group.hooks:
            found = written(each, file.form, USUAL_TIMEOUT)
            if found is None or not found.command.strip():
                kind = str(each.get("type", "command"))[:40]
                problems.append(f"{file.path}: {event}: a hook of type {kind!r} is left out; commands are run.")
                continue
            if found.unused:
                keys = ", ".join(f"`{key[:40]}`" for key in found.unused)
                problems.append(f"{file.path}: {event}: {keys} {'is' if len(found.unused) == 1 else 'are'} not used.")
            if found.only_if and (problem := _condition_problem(found.only_if, ours)):
                problems.append(f"{file.path}: {event}: {problem}")
                if ours not in hook_conditions.EVENTS:
                    continue
            timeout = found.timeout if 0 < found.timeout <= MAX_TIMEOUT else MAX_TIMEOUT
            hooks.append(
                Hook(
                    ours,
                    found.command,
                    group.matcher,
                    timeout,
                    file.origin,
                    str(file.path),
                    form=file.form,
                    told_as="" if event == ours else event,
                    waits=found.waits,
                    root=file.root,
                    only_if=found.only_if,
                    once=found.once,
                )
            )
        return hooks


def _of_others(folder: Path, origin: Origin) -> list[_File]:
    files = [
        _File(folder / ".claude" / "settings.json", origin, "claude"),
        _File(folder / ".claude" / "settings.local.json", origin, "claude"),
        _File(folder / ".gemini" / "settings.json", origin, "gemini"),
        _File(folder / ".codex" / FILE, origin, "codex"),
    ]
    if origin == "project":
        files += [_File(path, origin, "copilot") for path in sorted((folder / ".github" / "hooks").glob("*.json"))]
    return files


def _is_asked_for(file: _File, settings: HookSettings) -> bool:
    """Whoever installs a plugin asks for its hooks."""
    return bool(file.root) or file.form == "own" or getattr(settings, f"{file.form}_settings")


def _asleep(file: _File) -> str:
    return f"{file.path}: not read; `[hooks] {file.form}_settings = true` makes its hooks run."


def _notify(file: _File, text: str, problems: list[str]) -> list[Hook]:
    """codex's `notify`: a program and its first arguments, called with what happened as the last one."""
    given = tomllib.loads(text)
    if "hooks" in given:
        problems.append(f"{file.path}: `hooks` is not used here; those in hooks.json are.")
    argv = msgspec.convert(given.get("notify") or [], list[str])
    if not argv:
        return []
    return [Hook(NOTIFY, shlex.join(argv), "", USUAL_TIMEOUT, file.origin, str(file.path), form="codex", waits=False)]


def _condition_problem(condition: str, event: str) -> str:
    if event not in hook_conditions.EVENTS:
        return f"a hook with an `if` is left out: {condition[:60]!r} is about calls, and this event is not."
    if not hook_conditions.is_understood(condition):
        return f"the `if` {condition[:60]!r} is not understood: its hook runs for all calls."
    return ""


def concerns(hook: Hook, subject: str, facts: Mapping[str, Any], workspace: Path) -> bool:
    """Whether it is to run for what happened. A call's arguments are among the facts."""
    if not meets(hook, subject):
        return False
    if not hook.only_if or not subject:
        return not hook.only_if
    known = known_tool(subject, hook.form, theirs(subject))
    return hook_conditions.holds(hook.only_if, subject, known, facts.get("tool_input", {}), str(workspace))


def meets(hook: Hook, subject: str) -> bool:
    """A tool's matcher meets our name for it as well as the one hooks know; others meet what happened. Where nothing
    could be told apart, a matcher says nothing."""
    if hook.matcher in ("", "*") or not subject:
        return True
    names = {subject, known_tool(subject, hook.form, theirs(subject))}
    return any(re.fullmatch(hook.matcher, name) for name in names)
