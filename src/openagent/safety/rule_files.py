"""The rule files: the person's beside their settings, the project's in its `.openagent` folder."""

import json
import os
import re
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openagent.config.cache import RECHECK_SECONDS, ConfigCache, stamp_of
from openagent.config.project import RULES, find_project_file
from openagent.config.untrusted import distrust
from openagent.core.runtime import WorkspaceRules
from openagent.filesystem.atomic_files import replace_file
from openagent.policy.explain import load_rules
from openagent.policy.paths import glob_escape, is_inside
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol import locations
from openagent.protocol.errors import ErrorInfo, OpenAgentError

MAX_FILE = 1 << 20
MAX_STRANGER_RULES = 500
_TABLE = re.compile(r"\s*\[")
_RULE_TABLE = re.compile(r"\s*\[\[\s*rule\s*\]\]\s*(?:#.*)?$")
_MANY_WILDCARDS = re.compile(r"(?:\*+[^*]*){5,}")
"""Matching takes the longer the more there are, and a stranger must not keep the daemon busy."""


class RulesFound(Struct, frozen=True):
    holding: WorkspaceRules
    user: list[Rule]
    project: list[Rule]
    files: list[str]
    notices: list[ErrorInfo]


class _Cached(Struct):
    found: RulesFound
    stamp: object
    checked: float


class RuleFiles:
    def __init__(self, configs: ConfigCache) -> None:
        self._configs = configs
        self._env: Mapping[str, str] = configs.environment({})
        self.user_file = Path(locations.config_file(self._env)).with_name(RULES)
        self._cache: dict[Path, _Cached] = {}

    def find(self, workspace: Path) -> RulesFound:
        """Looks at the files once a second at most. Where rules cannot be read, the others hold and no mode goes beyond
        asking."""
        cached, now = self._cache.get(workspace), time.monotonic()
        if cached is not None and now - cached.checked < RECHECK_SECONDS:
            return cached.found
        project = find_project_file(workspace, self._env, RULES)
        file = project.path if project.path and not _same(project.path, self.user_file) else None
        trusted = file is not None and self._configs.trust.trusts(project.folder)
        stamp = stamp_of(self.user_file, *([file] if file else [])), file, trusted
        if cached is None or cached.stamp != stamp:
            found = self._read(workspace, file, trusted=trusted)
            if project.note:
                found.notices.append(ErrorInfo("config_error", project.note))
            cached = _Cached(found, stamp, now)
        cached.checked = now
        self._cache[workspace] = cached
        return cached.found

    def holding(
        self, workspace: Path, template: str = "", above: Sequence[str] = (), role: str | None = ""
    ) -> WorkspaceRules:
        """For an agent of a template, and what it works for, in a session of somebody with this role; without a
        template, for people and agents that have none."""
        found = self.find(workspace).holding
        return replace(found, rules=found.rules.holding_for(template, above, role))

    def notices(self, workspace: Path) -> list[ErrorInfo]:
        return self.find(workspace).notices

    def forget(self) -> None:
        self._cache.clear()

    def remember(self, rule: Rule) -> None:
        """Append an "always allow this" to the person's own file, which keeps all it says otherwise."""
        text = _text(self.user_file)
        if rule in load_rules(text, str(self.user_file), "user"):
            return
        with_rule = text + ("" if not text or text.endswith("\n") else "\n") + to_toml(rule)
        load_rules(with_rule, str(self.user_file), "user")
        try:
            _replace(self.user_file, with_rule)
        except OSError as problem:
            raise OpenAgentError(
                "config_error",
                f"The rule could not be written to {self.user_file}: {problem.strerror}.",
                hint="It holds for this session only.",
            ) from None
        self.forget()

    def granted(self) -> list[Rule]:
        """What was allowed always. Raises OpenAgentError when the file cannot be read."""
        return [rule for rule in load_rules(_text(self.user_file), str(self.user_file), "user") if rule.granted]

    def revoke(self, rule: Rule) -> None:
        """Take an "always allow this" out of the person's own file, which keeps all it says otherwise."""
        text = _text(self.user_file)
        rules = load_rules(text, str(self.user_file), "user")
        try:
            _replace(self.user_file, _without_rule(text, rules.index(rule)))
        except ValueError:
            raise OpenAgentError(
                "config_error",
                f"{self.user_file} is written in a way that cannot be changed safely, so it was left alone.",
                hint="Take the rule out of it yourself.",
            ) from None
        except OSError as problem:
            raise OpenAgentError(
                "config_error", f"The rule could not be taken out of {self.user_file}: {problem.strerror}."
            ) from None
        self.forget()

    def _read(self, workspace: Path, file: Path | None, *, trusted: bool) -> RulesFound:
        problems: list[ErrorInfo] = []
        notices: list[ErrorInfo] = []
        user = _rules(self.user_file, "user", problems)
        project = _rules(file, "project", problems) if file else []
        if file and not trusted:
            project = _strangers(project, file, problems, notices)
        rules = RuleSet.merge([*self._own(workspace), *user], project, trusted=trusted)
        files = [str(path) for path in (self.user_file, file) if path and path.exists()]
        holding = WorkspaceRules(rules, at_most="ask" if problems else "full")
        return RulesFound(holding, user, project, files, problems + notices)

    def _own(self, workspace: Path) -> list[Rule]:
        """In a workspace that holds OpenAgent's own files, no agent may touch what decides about agents."""
        kept_away = (self.user_file, Path(locations.config_file(self._env)), Path(locations.data_home(self._env)))
        inside = [str(path) for path in kept_away if is_inside(str(path), str(workspace))]
        if not inside:
            return []
        globs = [glob for path in inside for glob in (glob_escape(path), f"{glob_escape(path)}/**")]
        reason = "It decides what agents may do, or holds what they did."
        return [Rule(decision="deny", name="own-files", path=globs, reason=reason)]


def _rules(file: Path, source: Literal["user", "project"], notices: list[ErrorInfo]) -> list[Rule]:
    try:
        return load_rules(_text(file), str(file), source)
    except OpenAgentError as problem:
        notices.append(_unreadable(f"{problem.info.message} {problem.info.hint}"))
    except RecursionError:
        notices.append(_unreadable(f"The rules in {file} are nested too deeply."))
    return []


def _strangers(rules: list[Rule], file: Path, problems: list[ErrorInfo], notices: list[ErrorInfo]) -> list[Rule]:
    """What counts of a project's rules that nobody trusts: what makes things stricter."""
    kept = [rule for rule in rules if rule.decision != "allow"]
    if count := len(rules) - len(kept):
        allowing = f"{count} rules that allow something are" if count > 1 else "a rule that allows something is"
        notices.append(ErrorInfo("config_error", f"{file}: {allowing} left out, {distrust(file.parent.parent)}"))
    if len(kept) > MAX_STRANGER_RULES or any(map(_is_wild, kept)):
        problems.append(_unreadable(f"The rules in {file} are too many or have too many wildcards."))
        return []
    return kept


def _unreadable(message: str) -> ErrorInfo:
    hint = "Until that is corrected its rules do not hold, and whatever is not harmless is asked for."
    return ErrorInfo("config_error", message.strip(), hint=hint)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_FILE:
            raise OpenAgentError("config_error", f"The rules in {file} are larger than {MAX_FILE >> 20} MB.")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise OpenAgentError("config_error", f"The rules in {file} cannot be read: {problem.strerror}.") from None
    except UnicodeDecodeError:
        raise OpenAgentError("config_error", f"The rules in {file} are not UTF-8 text.") from None


def _is_wild(rule: Rule) -> bool:
    patterns = [rule.tool, *rule.argv]
    for given in (rule.command, rule.path, rule.host):
        patterns += [given] if isinstance(given, str) else given
    return any(_MANY_WILDCARDS.search(pattern) for pattern in patterns)


def _replace(file: Path, text: str) -> None:
    """In one step; a link keeps being one."""
    real = Path(os.path.realpath(file))
    real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(real, text.encode(), keep_mode=True)


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


def to_toml(rule: Rule) -> str:
    """Text to append to a rules file."""
    fields = {key: value for key, value in msgspec.to_builtins(rule).items() if value is not None}
    lines = [f"{key} = {_toml_value(value)}" for key, value in fields.items()]
    return "\n".join(["", "[[rule]]", *lines, ""])


def _without_rule(text: str, number: int) -> str:
    """A rules file's text without the rule of this number, counted from 0. Everything else stays as it is, to the
    comments before the next rule. Raises ValueError where the file is written in a way that does not allow that."""
    lines = text.splitlines(keepends=True)
    tables = [place for place, line in enumerate(lines) if _TABLE.match(line)]
    starts = [place for place in tables if _RULE_TABLE.match(lines[place])]
    before = tomllib.loads(text).get("rule", [])
    if number >= len(starts) or len(starts) != len(before):
        raise ValueError
    start = starts[number]
    end = next((place for place in tables if place > start), len(lines))
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    if start and not lines[start - 1].strip():
        start -= 1
    after = "".join([*lines[:start], *lines[end:]])
    if tomllib.loads(after).get("rule", []) != [*before[:number], *before[number + 1 :]]:
        raise ValueError
    return after


def _toml_value(value: str | list[str] | bool) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
