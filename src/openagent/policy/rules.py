"""Rules of the user, the project and the session: TOML to data, and which call they meet.

    [[rule]]
    name = "no-deploys"
    decision = "deny"                    # allow | ask | deny
    command = ["make deploy", "fly *"]   # the first words of a simple command; `*`: any part of a word
    reason = "Deploys go through CI."
    match = ["cd app && make deploy"]    # checked when the file is loaded
    not_match = ["make test"]

Further conditions, all of which must hold: `tool`, `path`, `host` (globs), `argv` (a list: every word of a simple
command), `text` (the whole command, literally), `workspace`, `about` (names of built-in rules: nothing else is known of
the call).
"""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openagent.policy.facts import Kind
from openagent.policy.paths import glob_pattern, is_inside
from openagent.policy.shell.values import UNKNOWN
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Risk

_TABLE = re.compile(r"\s*\[")
_RULE_TABLE = re.compile(r"\s*\[\[\s*rule\s*\]\]\s*(?:#.*)?$")
Source = Literal["user", "project", "session"]
Meeting = Literal["yes", "maybe", "no"]
"""`maybe`: what would tell is decided only when the command runs."""


class Rule(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    decision: Kind
    name: str = ""
    tool: str = ""
    command: str | list[str] = []
    argv: list[str] = []
    text: str = ""
    path: str | list[str] = []
    host: str | list[str] = []
    workspace: str = ""
    risk: Risk | None = None
    reason: str = ""
    match: list[str] = []
    not_match: list[str] = []
    granted: bool = False
    """A person said "always" or "for this session": it also answers rules that ask."""
    about: list[str] = []
    """Only where nothing else is known of the call than these findings of the built-in rules: `git push` was allowed,
    `git push --force` is more than that."""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    rule: list[Rule] = []


class Target(Struct, frozen=True):
    """What rules are held against: one simple command, one redirection, or one call of another tool."""

    tool: str
    workspace: str
    subject: str
    argv: tuple[str, ...] = ()
    known: bool = True
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """Names of the built-in rules that it meets."""


class CompiledRule:
    """A rule with its patterns ready."""

    def __init__(self, rule: Rule, source: Source, number: int) -> None:
        self.rule = rule
        self.source: Source = source
        self.name = f"{source}:{rule.name or number}"
        self._tool = glob_pattern(rule.tool) if rule.tool else None
        self._commands = [_word_patterns(command) for command in _listed(rule.command)]
        self._argvs = [tuple(map(_word_pattern, rule.argv))] if rule.argv else []
        self._paths = [_path_pattern(path) for path in _listed(rule.path)]
        self._hosts = [re.compile(glob_pattern(host.lower()).pattern) for host in _listed(rule.host)]

    @property
    def about_commands(self) -> bool:
        return bool(self._commands or self._argvs or self.rule.text)

    def meets(self, target: Target) -> Meeting:
        rule = self.rule
        if self._tool is not None and not self._tool.fullmatch(target.tool):
            return "no"
        if rule.workspace and rule.workspace != target.workspace:
            return "no"
        if rule.text and rule.text != target.subject:
            return "no"
        if rule.about and not set(target.findings) <= set(rule.about):
            return "no"
        meeting: Meeting = "yes"
        if self._commands or self._argvs:
            meeting = self._meets_words(target)
        if meeting != "no" and self._paths:
            meeting = _weaker(meeting, self._meets_all_or_any(self._path_hits(target), target))
        if meeting != "no" and self._hosts:
            hits = [any(pattern.fullmatch(host) for pattern in self._hosts) for host in target.hosts]
            meeting = _weaker(meeting, self._meets_all_or_any(hits, target))
        return meeting

    def _meets_words(self, target: Target) -> Meeting:
        argv = target.argv
        if not argv:
            return "no"
        if self.rule.decision == "allow":
            if UNKNOWN in "".join(argv[: max((len(c) for c in self._commands), default=1)]):
                return "no"
            prefixes = any(_starts_with(command, argv) for command in self._commands)
            whole = target.known and any(len(p) == len(argv) and _starts_with(p, argv) for p in self._argvs)
            return "yes" if prefixes or whole else "no"
        forms = _strict_forms(argv)
        meeting: Meeting = "no"
        for form in forms:
            for patterns, whole in [*((c, False) for c in self._commands), *((a, True) for a in self._argvs)]:
                met = _meets_loosely(patterns, form, whole=whole)
                if met == "yes":
                    return "yes"
                meeting = "maybe" if met == "maybe" else meeting
        return meeting

    def _path_hits(self, target: Target) -> list[bool]:
        return [
            any(pattern.fullmatch(form) for pattern in self._paths for form in _path_forms(path, target))
            for path in target.paths
        ]

    def _meets_all_or_any(self, hits: list[bool], target: Target) -> Meeting:
        """What allows must hold for everything, what forbids for anything."""
        if self.rule.decision == "allow":
            return "yes" if hits and all(hits) and target.known else "no"
        if any(hits):
            return "yes"
        return "no" if target.known or target.tool != "shell" else "maybe"


def _weaker(first: Meeting, second: Meeting) -> Meeting:
    if "no" in (first, second):
        return "no"
    return "maybe" if "maybe" in (first, second) else "yes"


def _listed(value: str | list[str]) -> list[str]:
    if isinstance(value, list):
        return value
    return [value] if value else []


def _word_patterns(text: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_word_pattern, _split(text)))


def _word_pattern(word: str) -> re.Pattern[str]:
    return re.compile(glob_pattern(word).pattern.replace("[^/]", "."), re.DOTALL)


def _split(text: str) -> list[str]:
    """Words as a person writes them in a rule: blanks part them, quotes keep them together."""
    found = re.findall(r"'([^']*)'|\"([^\"]*)\"|(\S+)", text)
    return [single or double or plain for single, double, plain in found]


def _starts_with(patterns: tuple[re.Pattern[str], ...], argv: tuple[str, ...]) -> bool:
    return len(argv) >= len(patterns) and all(p.fullmatch(word) for p, word in zip(patterns, argv, strict=False))


def _strict_forms(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The command as it is, and without the options that may stand before what it does: `git -C x push`."""
    name = argv[0].rsplit("/", 1)[-1]
    forms = [(name, *argv[1:])]
    index = 1
    while index < len(argv) and argv[index].startswith("-"):
        index += 2 if name == "git" and argv[index] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
        forms.append((name, *argv[index:]))
    return forms


def _meets_loosely(patterns: tuple[re.Pattern[str], ...], argv: tuple[str, ...], *, whole: bool) -> Meeting:
    if not patterns or (whole and len(patterns) != len(argv)):
        return "no"
    meeting: Meeting = "yes"
    for index, pattern in enumerate(patterns):
        if index >= len(argv):
            return "maybe" if UNKNOWN in "".join(argv) and meeting == "maybe" else "no"
        if UNKNOWN in argv[index]:
            meeting = "maybe"
        elif not pattern.fullmatch(argv[index]):
            return "no"
    return meeting


def _path_pattern(glob: str) -> re.Pattern[str]:
    if "/" not in glob.rstrip("/") and not glob.startswith("~"):
        glob = "**/" + glob
    return glob_pattern(glob + "**" if glob.endswith("/") else glob)


def _path_forms(path: str, target: Target) -> list[str]:
    forms = [path]
    if is_inside(path, target.workspace):
        forms.append(path[len(target.workspace) :].lstrip("/"))
    if home := re.match(r"(?:/root|/home/[^/]+|/Users/[^/]+)(?=/|$)", path):
        forms.append("~" + path[home.end() :])
    return forms


class RuleSet(Struct, frozen=True):
    """The rules above the built-in ones, strictest first."""

    compiled: tuple[CompiledRule, ...] = ()

    @classmethod
    def builtin(cls) -> "RuleSet":
        return cls()

    @classmethod
    def merge(cls, user: Sequence[Rule], project: Sequence[Rule], trusted: bool) -> "RuleSet":
        """A project that is not trusted can only make things stricter."""
        kept = [replace(rule, granted=False) for rule in project if trusted or rule.decision != "allow"]
        return cls(_ordered([*_compile(user, "user"), *_compile(kept, "project")]))

    def moved(self, origin: str, place: str) -> "RuleSet":
        """As they hold in a copy of a workspace."""
        return RuleSet(tuple(_moved(compiled, origin, place) for compiled in self.compiled))

    def granting(self, rule: Rule) -> "RuleSet":
        """With what a person allowed for this session."""
        return RuleSet(_ordered([*self.compiled, CompiledRule(rule, "session", len(self.compiled) + 1)]))


def moved_rule(rule: Rule, origin: str, place: str) -> Rule:
    """One that names the workspace names its copy. Where a path lies beneath it, both are meant."""
    paths = _listed(rule.path)
    beneath = [place + path[len(origin) :] for path in paths if is_inside(path, origin)]
    workspace = place if rule.workspace == origin else rule.workspace
    return replace(rule, workspace=workspace, path=[*paths, *beneath])


def _moved(compiled: CompiledRule, origin: str, place: str) -> CompiledRule:
    moved = CompiledRule(moved_rule(compiled.rule, origin, place), compiled.source, 0)
    moved.name = compiled.name
    return moved


def _compile(rules: Iterable[Rule], source: Source) -> list[CompiledRule]:
    return [CompiledRule(rule, source, number) for number, rule in enumerate(rules, 1)]


def _ordered(rules: list[CompiledRule]) -> tuple[CompiledRule, ...]:
    rank = {"deny": 0, "ask": 2, "allow": 3}
    return tuple(sorted(rules, key=lambda compiled: 1 if compiled.rule.granted else rank[compiled.rule.decision]))


def parse_rules(text: str, file: str) -> list[Rule]:
    """The rules of a file's text; their examples are not yet checked (see `explain.load_rules`)."""
    try:
        rules = msgspec.convert(tomllib.loads(text), _File).rule
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise OpenAgentError(
            "config_error",
            f"The rules in {file} cannot be read: {problem}.",
            hint="Correct the file, or remove the rule.",
        ) from None
    for number, rule in enumerate(rules, 1):
        conditions = (rule.tool, rule.command, rule.argv, rule.text, rule.path, rule.host)
        if not any(conditions):
            raise OpenAgentError(
                "config_error",
                f"Rule {rule.name or number} in {file} has no condition, so it would meet every call.",
                hint="Give it a tool, command, argv, text, path or host.",
            )
    return rules


def to_toml(rule: Rule) -> str:
    """Text to append to a rules file."""
    fields = {key: value for key, value in msgspec.to_builtins(rule).items() if value is not None}
    lines = [f"{key} = {_toml_value(value)}" for key, value in fields.items()]
    return "\n".join(["", "[[rule]]", *lines, ""])


def without_rule(text: str, number: int) -> str:
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
