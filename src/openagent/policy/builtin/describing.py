"""Commands described as data (`commands/*.toml`), and a call read by its description.

docs/policy-commands.md says how a description is written.
"""

import itertools
import re
import tomllib
from collections import deque
from collections.abc import Container, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openagent.bash.values import SENSITIVE, Value
from openagent.policy.builtin.calls import Call, Outcome, script_findings
from openagent.policy.builtin.catalogue import Kind, hit, rules
from openagent.policy.builtin.roles import Roles

_FOLDER = Path(__file__).parent.parent / "commands"
_OPTION = re.compile(r"(\*|\+|-#|@\w[\w-]*|--?[^\s:+=]+)(=?)(?::([a-z]+))?(?:\+([a-z-]+))?")
_ROLES = frozenset(name for name in dir(Roles) if name[0] != "_")
_TURNED = {
    "harmless": {"write": "text", "git_config": "text"},
    "inplace": {"read": "write"},
    "packs": {"read": "write", "write": "look"},
    "listing": {"create": "text"},
}
"""With an option so marked (`sed -i`), arguments of one role have another."""
_MARKS = {"recursive", "inline", "stdin", *_TURNED}
"""What an option may be marked with beside rules."""
_SHORTEST = len("--x")
"""Of an abbreviated option."""
_ENDING = ("code", "rest")
"""An option with one of these takes all that follows."""
_STARTING = ("arch", "tmux", "run", "shell", "xargs", "program", "interpreter")
"""From an operand with one of these on it is another command's words."""


class Option(Struct, frozen=True):
    role: str = ""
    """What its value is; empty: it takes none."""
    mark: str = ""
    """A rule it meets, or a word the roles look for."""
    attached: bool = False
    """A value counts only where it is attached."""


class Description(Struct, frozen=True, forbid_unknown_fields=True):
    """As it is written."""

    options: str | None = None
    operands: str | None = None
    finds: str = ""
    says: dict[str, str] = {}
    version: str = "none"
    sends: bool = False
    verbs: bool = False
    bundled: bool = False
    bare: bool = False
    examples: dict[Kind, list[str]] = {}


class Command(Struct, frozen=True):
    """A description, ready for use."""

    told: Description
    options: dict[str, Option]
    any_option: bool
    operands: tuple[tuple[str, bool], ...] | None
    """Roles in their order; True: any number of them."""
    says: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    version: frozenset[str]


class Given(Struct):
    """The arguments of a call, told apart."""

    command: Command
    words: list[str]
    """The command's name, and the verbs after it."""
    roles: dict[str, list[Value]] = field(default_factory=dict[str, list[Value]])
    marks: dict[str, str] = field(default_factory=dict[str, str])
    unknown: list[Value] = field(default_factory=list[Value])
    """What the description does not tell about."""
    rest: list[Value] = field(default_factory=list[Value])
    """All arguments after the verbs."""

    @property
    def line(self) -> str:
        return " ".join(value.text for value in self.rest)

    @property
    def whole(self) -> str:
        return " ".join([*self.words, self.line]).strip()

    def add(self, option: Option, text: str, values: list[Value]) -> None:
        if option.mark:
            self.marks[option.mark] = text
        if option.role:
            self.roles.setdefault("value" if option.role == "text" else option.role, []).extend(values)


def described(text: str, file: str) -> dict[str, Command]:
    """The commands a file describes. Raises ValueError, which names what is wrong."""
    entries = msgspec.convert(tomllib.loads(text), dict[str, Description])
    table: dict[str, Command] = {}
    for key, entry in entries.items():
        try:
            command = _compiled(entry)
        except ValueError as problem:
            raise ValueError(f"{file}: {key}: {problem}") from None
        for name in key.split(","):
            for words in itertools.product(*(word.split("|") for word in name.split())):
                table[" ".join(words)] = command
    return table


def _compiled(entry: Description) -> Command:
    options: dict[str, Option] = {}
    for token in (entry.options or "").split():
        parsed = _OPTION.fullmatch(token)
        if parsed is None:
            raise ValueError(f"{token!r} is no option")
        name, option = parsed[1], Option(parsed[3] or "", parsed[4] or "", bool(parsed[2]))
        if name.startswith("@"):
            options["-" + name[1:]] = option
        elif name.startswith("--") or name in ("*", "+", "-#"):
            options[name] = option
        else:
            options.update({"-" + letter: option for letter in name[1:]})
    operands = entry.operands
    roles = None if operands is None else tuple((role.rstrip("*"), role.endswith("*")) for role in operands.split())
    says = tuple((re.compile(pattern, re.DOTALL), tuple(met.split())) for pattern, met in entry.says.items())
    _check("rule", [entry.finds, *itertools.chain(*(met for _, met in says))], rules().keys() | {"script"})
    _check("role", [*(option.role for option in options.values()), *(role for role, _ in roles or ())], _ROLES)
    _check("mark", [option.mark for option in options.values()], rules().keys() | _MARKS)
    version = {"--version", "--help"} if entry.version else set[str]()
    version.update(entry.version.split() if entry.version != "none" else ())
    free = "*" in options or (entry.options is None and bool(entry.finds))
    return Command(entry, options, free, roles, says, frozenset(version))


def _check(what: str, used: Iterable[str], known: Container[str]) -> None:
    if unknown := next((name for name in used if name and name not in known), None):
        raise ValueError(f"there is no {what} {unknown!r}")


COMMANDS: dict[str, Command] = {}
"""By name, verbs included: `git log`. Read when this module is: it is no part of a daemon's start."""
for _file in sorted(_FOLDER.glob("*.toml")):
    COMMANDS.update(described(_file.read_text(), _file.name))


def outcomes(call: Call) -> list[Outcome] | None:
    """What a described command does; None where it is not described."""
    command = COMMANDS.get(call.name)
    if command is None:
        return None
    if (not call.values and command.told.bare) or (len(call.values) == 1 and call.values[0].text in command.version):
        return []
    given = read_call(call)
    command, told, harmless = given.command, given.command.told, "harmless" in given.marks
    found: list[Outcome] = [hit(mark, text) for mark, text in given.marks.items() if mark in rules()]
    if given.unknown:
        dynamic = told.verbs and not given.unknown[0].known
        what = " ".join([*given.words, given.unknown[0].text])
        found.append(hit("dynamic" if dynamic else "unknown-command", what))
    roles = Roles(call, given)
    turned = {was: now for mark in given.marks for was, now in _TURNED.get(mark, {}).items()}
    for role, values in given.roles.items():
        found.extend(getattr(roles, turned.get(role, role))(values))
    for pattern, said in command.says:
        if met := pattern.search(given.line):
            found.extend(hit(rule, given.line) for rule in said if rule != "script")
            if "script" in said:
                found.extend(script_findings(next(filter(None, met.groups()), "")))
    if told.sends and (call.input.sensitive or any(SENSITIVE in text for text in call.texts)):
        found.append(hit("sends-credentials"))
    if told.finds and not harmless:
        found.append(hit(told.finds, given.whole))
    return found


def read_call(call: Call) -> Given:
    given = Given(COMMANDS[call.name], [call.name], rest=list(call.values))
    values = deque(call.values)
    if given.command.told.bundled and values and not values[0].text.startswith("-"):
        values[0] = Value("-" + values[0].text, values[0].known)
    operands: list[Value] = []
    while values:
        value = values.popleft()
        if value.text == "--":
            operands.extend(values)
            break
        if value.text[:1] == "+" and "+" in given.command.options:
            value = replace(value, text="-" + value.text[1:])
        if value.text.startswith("-") and len(value.text) > 1:
            _option(given, value, values)
            continue
        verb = " ".join([*given.words, value.text])
        if not operands and verb in COMMANDS and value.known:
            given.command = COMMANDS[verb]
            given.words.append(value.text)
            given.rest = list(values)
            continue
        operands.append(value)
        roles = _roles(given)
        if len(operands) <= len(roles) and roles[len(operands) - 1][0] in _STARTING:
            operands.extend(values)
            break
    _distribute(given, operands)
    return given


def _option(given: Given, value: Value, values: deque[Value]) -> None:
    options, text = given.command.options, value.text
    name, _, attached = text.partition("=")
    exact = options.get(text) or options.get(name)
    if exact is not None:
        given.add(exact, text, _taken(exact, [Value(attached, value.known)] if "=" in text else [], values))
        return
    if text.startswith("--"):
        if not given.command.any_option:
            given.unknown.append(value)
        elif len(name) > _SHORTEST and (meant := [key for key in options if key.startswith(name)]):  # abbreviated
            _option(given, replace(value, text=meant[0] + text[len(name) :]), values)
        return
    for index, letter in enumerate(text[1:], 2):
        option = options.get("-" + letter)
        if option is None and (letter.isdigit() and "-#" in options):
            return
        if option is None and given.command.any_option:
            continue
        if option is None:
            given.unknown.append(value)
            return
        if option.role or option.attached:
            rest = text[index:].removeprefix("=") if option.attached else text[index:]
            if rest and "+" in options:  # where a shell takes the value from is the shell's own matter
                given.marks["hidden-code"] = text
            given.add(option, text, _taken(option, [Value(rest, value.known)] if rest else [], values))
            return
        given.add(option, text, [])


def _taken(option: Option, attached: list[Value], values: deque[Value]) -> list[Value]:
    if option.role in _ENDING:
        attached.extend(values)
        values.clear()
    elif option.role and not attached and not option.attached and values:
        attached.append(values.popleft())
        if option.role == "pair" and values:
            attached.append(values.popleft())
    return attached


def _roles(given: Given) -> list[tuple[str, bool]]:
    """What an option has given already is no operand any more: `grep -e x file`."""
    return [(role, many) for role, many in given.command.operands or () if many or role not in given.roles]


def _distribute(given: Given, operands: list[Value]) -> None:
    told = given.command.told
    if given.command.operands is None and told.finds:
        return
    roles = _roles(given)
    star = next((index for index, (_, many) in enumerate(roles) if many), len(roles))
    behind = len(roles) - star - 1
    for index, (role, many) in enumerate(roles):
        left = len(operands)
        count = max(left - behind, 0) if many else min(left, 1)
        if index < star < len(roles) and left <= behind:
            count = 0
        given.roles.setdefault(role, []).extend(operands[:count])
        operands = operands[count:]
    given.unknown.extend(operands)
