"""Rules of the user, the project and the session: TOML to data (docs/safety.md), and which call they meet."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openagent.bash import UNKNOWN
from openagent.policy.facts import Kind
from openagent.policy.paths import glob_pattern, is_inside
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import Role
from openagent.protocol.sessions import Risk

Source = Literal["user", "project", "session"]
_Pattern = re.Pattern[str]


class Meeting(IntEnum):
    NO = 0
    MAYBE = 1
    """What would tell is decided only when the command runs."""
    YES = 2


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
    template: str | list[str] = []
    """Only for agents of these templates. What asks or denies also holds for whoever works for them."""
    role: Role | list[Role] = []
    """Only in sessions of people with one of these roles."""
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
        self.number = number
        self.name = f"{source}:{rule.name or number}"
        self._tool = glob_pattern(rule.tool) if rule.tool else None
        self._commands = [_Words(list(map(_word_pattern, _split(command)))) for command in listed(rule.command)]
        self._commands += [_Words(list(map(_word_pattern, rule.argv)), whole=True)] if rule.argv else []
        self._paths = [_path_pattern(path) for path in listed(rule.path)]
        self._hosts = [glob_pattern(host.lower()) for host in listed(rule.host)]
        self._templates = [glob_pattern(template) for template in listed(rule.template)]
        self._roles: Sequence[str] = rule.role if isinstance(rule.role, list) else [rule.role]

    @property
    def about_commands(self) -> bool:
        return bool(self._commands or self.rule.text)

    def holds_for(self, template: str, above: Sequence[str], role: str | None) -> bool:
        """`above`: the templates of those that it works for, who could have others do what they may not. `role`: of the
        person whose session it is; empty: nobody's in particular; None: not known, so that only what is stricter
        holds."""
        if self._roles and (self.rule.decision == "allow" if role is None else role not in self._roles):
            return False
        names = (template,) if self.rule.decision == "allow" else (template, *above)
        return not self._templates or any(
            pattern.fullmatch(name) for pattern in self._templates for name in names if name
        )

    def meets(self, target: Target) -> Meeting:
        rule = self.rule
        if (
            (self._tool is not None and not self._tool.fullmatch(target.tool))
            or rule.workspace not in ("", target.workspace)
            or rule.text not in ("", target.subject)
            or (rule.about and not set(target.findings) <= set(rule.about))
        ):
            return Meeting.NO
        return min(
            self._meets_words(target),
            self._meets_all_or_any(self._paths, [_path_forms(path, target) for path in target.paths], target),
            self._meets_all_or_any(self._hosts, [[host] for host in target.hosts], target),
        )

    def _meets_words(self, target: Target) -> Meeting:
        if not self._commands:
            return Meeting.YES
        if self.rule.decision == "allow":
            surely = any(words.meet(target.argv) is Meeting.YES and (target.known or not words.whole)
                         for words in self._commands)  # fmt: skip
            return Meeting.YES if surely else Meeting.NO
        return max(
            (words.meet(form) for form in _strict_forms(target.argv) for words in self._commands), default=Meeting.NO
        )

    def _meets_all_or_any(self, patterns: list[_Pattern], found: list[list[str]], target: Target) -> Meeting:
        """What allows must hold for everything, what forbids for anything. `found`: each with its spellings."""
        if not patterns:
            return Meeting.YES
        hits = [any(pattern.fullmatch(form) for pattern in patterns for form in forms) for forms in found]
        if self.rule.decision == "allow":
            return Meeting.YES if hits and all(hits) and target.known else Meeting.NO
        unsure = not target.known and target.tool == "shell"
        return Meeting.YES if any(hits) else Meeting.MAYBE if unsure else Meeting.NO


class _Words(Struct, frozen=True):
    """The first words of a command, or all of them."""

    patterns: list[_Pattern]
    whole: bool = False

    def meet(self, argv: tuple[str, ...]) -> Meeting:
        if not self.patterns or (self.whole and len(self.patterns) != len(argv)):
            return Meeting.NO
        meeting = Meeting.YES
        for index, pattern in enumerate(self.patterns):
            if index >= len(argv):
                return meeting if meeting is Meeting.MAYBE else Meeting.NO
            if UNKNOWN in argv[index]:
                meeting = Meeting.MAYBE
            elif not pattern.fullmatch(argv[index]):
                return Meeting.NO
        return meeting


def listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _word_pattern(word: str) -> _Pattern:
    return re.compile(glob_pattern(word).pattern.replace("[^/]", "."), re.DOTALL)


def _split(text: str) -> list[str]:
    """Words as a person writes them in a rule: blanks part them, quotes keep them together."""
    found = re.findall(r"'([^']*)'|\"([^\"]*)\"|(\S+)", text)
    return [single or double or plain for single, double, plain in found]


def _strict_forms(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The command as it is, and without the options that may stand before what it does: `git -C x push`."""
    if not argv:
        return []
    name = argv[0].rsplit("/", 1)[-1]
    forms = [(name, *argv[1:])]
    index = 1
    while index < len(argv) and argv[index].startswith("-"):
        index += 2 if name == "git" and argv[index] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
        forms.append((name, *argv[index:]))
    return forms


def _path_pattern(glob: str) -> _Pattern:
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
        return cls(_ordered([*compile_rules(user, "user"), *compile_rules(kept, "project")]))

    def holding_for(self, template: str, above: Sequence[str] = (), role: str | None = "") -> "RuleSet":
        """Those that hold for an agent of this template; empty: for who has none."""
        return RuleSet(tuple(each for each in self.compiled if each.holds_for(template, above, role)))

    def granting(self, rule: Rule) -> "RuleSet":
        """With what a person allowed for this session."""
        return RuleSet(_ordered([*self.compiled, CompiledRule(rule, "session", len(self.compiled) + 1)]))


def compile_rules(rules: Iterable[Rule], source: Source) -> list[CompiledRule]:
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
