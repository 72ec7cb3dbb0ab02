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
from openagent.policy.hidden import standing_in
from openagent.policy.paths import glob_pattern, globs_meet, is_inside
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import Role
from openagent.protocol.sessions import Risk

Source = Literal["user", "project", "session"]
_Pattern = re.Pattern[str]
_GLOB = re.compile(r"[*?\[]")
_SETS = re.compile(r"[A-Za-z_]\w*=")
_MOST_FORMS = 64


class Meeting(IntEnum):
    NO = 0
    MAYBE = 1
    """What would tell is decided only when the command runs."""
    BY_PATTERN = 2
    """A pattern of the command's may mean it: a file of that name is enough."""
    YES = 3


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
        self._commands = [_Words.of(_split(command)) for command in listed(rule.command)]
        self._commands += [_Words.of(rule.argv, whole=True)] if rule.argv else []
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
            self._meets_paths(target),
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
            (
                min(words.meet(form), Meeting.YES if sure else Meeting.MAYBE)
                for form, sure in _strict_forms(target.argv)
                for words in self._commands
            ),
            default=Meeting.NO,
        )

    def _meets_paths(self, target: Target) -> Meeting:
        forms = [_path_forms(path, target) for path in target.paths]
        meeting = self._meets_all_or_any(self._paths, forms, target)
        if meeting is not Meeting.NO or self.rule.decision == "allow" or target.tool != "shell":
            return meeting
        globs = [form for each in forms for form in each if _GLOB.search(form)]
        may = any(globs_meet(glob, _path_glob(path)) for glob in globs for path in listed(self.rule.path))
        return Meeting.BY_PATTERN if may else Meeting.NO

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

    written: list[str]
    patterns: list[_Pattern]
    whole: bool = False

    @classmethod
    def of(cls, words: list[str], *, whole: bool = False) -> "_Words":
        words = list(map(standing_in, words))
        return cls(words, list(map(_word_pattern, words)), whole)

    def meet(self, argv: tuple[str, ...]) -> Meeting:
        meeting = Meeting.YES
        for index, pattern in enumerate(self.patterns):
            if index >= len(argv):
                return Meeting.NO
            if UNKNOWN in argv[index]:
                return Meeting.MAYBE  # it may be several words, or none
            word = standing_in(argv[index])
            if pattern.fullmatch(word):
                continue
            if not (_GLOB.search(word) and globs_meet(word, self.written[index])):
                return Meeting.NO
            meeting = Meeting.BY_PATTERN
        rest = argv[len(self.patterns) :]
        if not self.patterns or (self.whole and rest and UNKNOWN not in rest[0]):
            return Meeting.NO
        return Meeting.MAYBE if self.whole and rest else meeting


def listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _word_pattern(word: str) -> _Pattern:
    return re.compile(glob_pattern(word).pattern.replace("[^/]", "."), re.DOTALL)


def _split(text: str) -> list[str]:
    """Words as a person writes them in a rule: blanks part them, quotes keep them together."""
    found = re.findall(r"'([^']*)'|\"([^\"]*)\"|(\S+)", text)
    return [single or double or plain for single, double, plain in found]


def _strict_forms(argv: tuple[str, ...]) -> list[tuple[tuple[str, ...], bool]]:
    """The command as it is, and without what may stand before what it does: `git -C x push`, `make V=1 deploy`. False:
    if that option takes a value."""
    if not argv:
        return []
    name = argv[0].rsplit("/", 1)[-1]
    forms = {argv[1:]: True}
    pending = [(1, True)]
    while pending and len(forms) < _MOST_FORMS:
        index, sure = pending.pop()
        if index >= len(argv) or not (argv[index].startswith("-") or _SETS.match(argv[index])):
            continue
        option = argv[index]
        valued = name == "git" and option in ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
        after = index + 2 if valued else index + 1
        steps = [(after, sure)]
        if name != "git" and option[:1] == "-" and option != "--" and "=" not in option:
            steps.append((after + 1, False))
        for step, certain in steps:
            forms[argv[step:]] = certain or forms.get(argv[step:], False)
            pending.append((step, certain))
    return [((name, *rest), sure) for rest, sure in forms.items()]


def _path_pattern(glob: str) -> _Pattern:
    return glob_pattern(_path_glob(glob))


def _path_glob(glob: str) -> str:
    glob = standing_in(glob)
    if "/" not in glob.rstrip("/") and not glob.startswith("~"):
        glob = "**/" + glob
    return glob + "**" if glob.endswith("/") else glob


def _path_forms(path: str, target: Target) -> list[str]:
    path = path if UNKNOWN in path else standing_in(path)
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
