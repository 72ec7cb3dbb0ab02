"""Commands whose arguments are a little language of their own, and those that change the shell they run in."""

import re
import shlex
from collections.abc import Iterable

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Inner, InnerScript, Outcome, reads, script_findings
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.describing import COMMANDS, Given, read_call
from openagent.policy.builtin.network import FETCHING
from openagent.policy.builtin.programs import code_findings
from openagent.policy.builtin.roles import Roles, deletes
from openagent.policy.builtin.variables import assigns, setting
from openagent.policy.paths import names_credentials
from openagent.policy.shell.values import FROM_NETWORK, SENSITIVE, UNKNOWN, Value

_INPUT_FILE = re.compile(r"-|/dev/stdin|/dev/fd/\d|/proc/[^/]+/fd/\d")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_DECODING = frozenset(
    ("base64", "base32", "xxd", "openssl", "gunzip", "zcat", "bzcat", "xzcat", "gzip", "rev", "tr", "uudecode", "od",
     "awk", "sed", "perl", "python", "python3")
)  # fmt: skip
_TOOL_MODULES = frozenset(("pip", "twine", "build", "uv", "poetry", "ruff", "coverage", "pytest", "mypy", "black"))
_READING_MODULES = frozenset(("json.tool", "tokenize", "platform", "sysconfig", "this"))
_SHELL_OPTION = re.compile(r"[-+][euxfnvCo]+|pipefail|errexit|nounset|xtrace|noglob|noclobber")
_EDITOR_COMMAND = re.compile(r"!\s*(.+)|system\(['\"](.*?)['\"]\)", re.DOTALL)


def outcomes(call: Call) -> list[Outcome] | None:
    """What a described command does; None where it is not described."""
    command = COMMANDS.get(call.name)
    if command is None:
        return None
    if (not call.values and command.told.bare) or (len(call.values) == 1 and call.values[0].text in command.version):
        return []
    given = read_call(call)
    command, harmless, rules = given.command, "harmless" in given.marks, catalogue.RULES
    found: list[Outcome] = [Finding(rules[mark], text) for mark, text in given.marks.items() if mark in rules]
    if given.unknown:
        dynamic = command.told.verbs and not given.unknown[0].known
        rule = catalogue.DYNAMIC if dynamic else catalogue.UNKNOWN_COMMAND
        found.append(Finding(rule, " ".join([*given.words, given.unknown[0].text])))
    if command.told.handler and not harmless:
        found.extend(getattr(Handlers(call, given), command.told.handler)())
    roles = Roles(call, given)
    for role, values in given.roles.items():
        found.extend(getattr(roles, role)(values))
    for pattern, said in command.says:
        if met := pattern.search(given.line):
            found.extend(Finding(rules[rule], given.line) for rule in said if rule != "script")
            if "script" in said:
                found.extend(script_findings(next(filter(None, met.groups()), "")))
    if command.told.sends and (call.input.sensitive or any(SENSITIVE in text for text in call.texts)):
        found.append(Finding(catalogue.SENDS_CREDENTIALS))
    if command.told.finds and not harmless:
        found.append(Finding(rules[command.told.finds], " ".join([*given.words, given.line]).strip()))
    return found


class Handlers:
    """Each method is a handler, by its name."""

    def __init__(self, call: Call, given: Given) -> None:
        self._call = call
        self._given = given

    # shells

    def shell(self) -> list[Outcome]:
        found: list[Outcome] = []
        values = list(self._call.values)
        while values and values[0].text[:1] in ("-", "+") and values[0].text not in ("-", "--"):
            text = values.pop(0).text
            if text in ("--rcfile", "--init-file"):
                found.append(Finding(catalogue.RUNS_CODE, values.pop(0).text if values else ""))
            elif re.fullmatch(r"[-+][a-zA-Z]*[oO]", text) and values:
                values.pop(0)
            elif re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text):
                while values and values[0].text.startswith("-"):
                    values.pop(0)
                if not values:
                    return [Finding(catalogue.NOT_UNDERSTOOD)]
                found.extend(script_findings(values[0].text, tuple(values[2:])))
                return found if values[0].known else [*found, Finding(catalogue.DYNAMIC)]
            elif "s" in text and not text.startswith("--"):
                return [*found, *self._from_input(tuple(value for value in values if value.text != "--"))]
        if values and values[0].text == "--":
            values.pop(0)
        if values and not _INPUT_FILE.fullmatch(values[0].text):
            return [*found, _script_file(values[0])]
        return [*found, *self._from_input()]

    def _from_input(self, positional: tuple[Value, ...] = ()) -> list[Outcome]:
        """Shell text that comes in on standard input."""
        given = self._call.input
        if not given.given:
            return [Finding(catalogue.RUNS_CODE, "interactive")]
        if FETCHING & set(given.producers):
            return [Finding(catalogue.REMOTE_CODE)]
        hidden = given.text is None or UNKNOWN in given.text or _DECODING & set(given.producers)
        found: list[Outcome] = [Finding(catalogue.HIDDEN_CODE)] if hidden else []
        return [*found, InnerScript(given.text, positional)] if given.text else found

    def source(self) -> list[Outcome]:
        values = self._call.values
        if values and self._call.input.given and _INPUT_FILE.fullmatch(values[0].text):
            return self._from_input()
        return [_script_file(values[0])] if values else []

    def evaluate(self) -> list[Outcome]:
        text = " ".join(self._call.texts)
        if FROM_NETWORK in text:
            return [Finding(catalogue.REMOTE_CODE)]
        found: list[Outcome] = [InnerScript(text, None, same_shell=True)]
        return found if self._call.known else [*found, Finding(catalogue.DYNAMIC, text)]

    def env(self) -> list[Outcome]:
        found: list[Outcome] = []
        values = list(self._call.values)
        while values:
            value = values.pop(0)
            text = value.text
            if (assignment := _ASSIGNMENT.fullmatch(text)) and not text.startswith("-"):
                found.extend(assigns(assignment[1], Value(assignment[2], value.known)))
            elif split := re.match(r"(?:--split-string(?:=|$)|-[iv0]*S)(.*)", text, re.DOTALL):
                first = split[1] or (values.pop(0).text if values else "")
                return [*found, *script_findings(f"env {first} {_quoted(values)}")]
            elif text in ("-u", "--unset"):
                del values[:1]
            elif text in ("-C", "--chdir") or text.startswith("--chdir="):
                folder = text.partition("=")[2] or (values.pop(0).text if values else "")
                return [*found, InnerScript(f"cd {shlex.quote(folder)} && {_quoted(values)}")]
            elif not text.startswith("-"):
                return [*found, Inner((value, *values), self._call.input)]
        return [*found, Finding(catalogue.DUMPS_ENVIRONMENT)]

    # commands for each of many

    def parallel(self) -> list[Outcome]:
        texts = self._call.texts
        while texts and texts[0].startswith("-"):
            texts = texts[1:]
        template = texts[: next((index for index, text in enumerate(texts) if text.startswith(":::")), len(texts))]
        arguments = [text for text in texts[len(template) :] if not text.startswith(":::")]
        line = " ".join(template)
        lines = [line.replace("{}", each) if "{}" in line else f"{line} {each}" for each in arguments or [UNKNOWN]]
        return [Finding(catalogue.DYNAMIC, "parallel"), *map(InnerScript, lines)]

    def xargs(self) -> list[Outcome]:
        values = self._given.roles.get("command", [])
        filled = self._given.roles.get("filled")
        placeholder = (filled[0].text if filled else "") or ("{}" if filled is not None else "")
        fetched = bool(FETCHING & set(self._call.input.producers))
        text = self._call.input.text
        if text is not None and not fetched:
            added = [Value(word) for word in (text.splitlines() if placeholder else text.split())[:16]]
        else:
            added = [Value(UNKNOWN + (FROM_NETWORK if fetched else ""), known=False)]
        if not values:
            return []
        if not placeholder:
            return [Inner((*values, *added))]
        return [Inner(tuple(_filled(value, placeholder, line) for value in values)) for line in added]

    def find(self) -> Iterable[Outcome]:
        values = [value for value in self._call.values if value.text not in ("-H", "-L", "-P")]
        count = next((index for index, value in enumerate(values) if re.match(r"[-(!)]", value.text)), len(values))
        starts, values = values[:count] or [Value(".")], values[count:]
        yield from Roles(self._call, self._given).look(starts)
        while values:
            value = values.pop(0)
            option = self._given.command.options.get(value.text)
            if value.text in ("-exec", "-execdir", "-ok", "-okdir"):
                end = next((index for index, each in enumerate(values) if each.text in (";", "+")), len(values))
                yield from self._for_each(starts, values[:end])
                values = values[end:]
            elif value.text == "-delete":
                yield from deletes(self._call, starts, recursive=True)
            elif not value.known:
                yield Finding(catalogue.DYNAMIC, "find")
            elif option is None and value.text.startswith("-"):
                yield Finding(catalogue.UNKNOWN_COMMAND, "find " + value.text)
            elif option and option.role:
                values = values[1:]

    def _for_each(self, starts: list[Value], command: list[Value]) -> Iterable[Outcome]:
        call = self._call
        sought = next((value.text for value in call.values if names_credentials(value.text)), UNKNOWN)
        for start in starts:
            inside = call.place(start) in ("workspace", "temporary") and start.known
            file = start if call.is_critical(start) else Value(f"{start.text}/{sought}", known=inside)
            yield Inner(tuple(_filled(value, "{}", file) for value in command))

    # the shell itself

    def alias(self) -> Iterable[Outcome]:
        for value in self._call.values:
            if assignment := re.fullmatch(r"([^=\s]+)=(.*)", value.text, re.DOTALL):
                self._call.state.aliases[assignment[1]] = assignment[2]
                yield Finding(catalogue.STEERS_SHELL, value.text)
                yield from script_findings(assignment[2])

    def declare(self) -> Iterable[Outcome]:
        """export, declare, local …: the assignments are looked at where they are parsed."""
        call = self._call
        if call.texts in (["-p"], ["-x"]) or (not call.values and call.name in ("export", "declare", "typeset")):
            yield Finding(catalogue.DUMPS_ENVIRONMENT)
        for value in call.values:
            if assignment := _ASSIGNMENT.fullmatch(value.text):
                yield from assigns(assignment[1], Value(assignment[2], value.known))
                call.state.assign(assignment[1], assignment[2], known=value.known)
            elif not value.known:
                yield Finding(catalogue.DYNAMIC, value.text)

    def move(self) -> Iterable[Outcome]:
        folders = self._given.roles.get("folder", [])
        self._call.state.move(folders[0] if folders else (Value("~") if self._call.name == "cd" else None))
        return ()

    def set(self) -> Iterable[Outcome]:
        call = self._call
        if not call.values:
            return [Finding(catalogue.DUMPS_ENVIRONMENT)]
        if call.texts[0] == "--":
            sure = not call.state.conditional
            call.state.positional = tuple(Value(value.text, value.known and sure) for value in call.values[1:])
        elif not all(map(_SHELL_OPTION.fullmatch, call.texts)):
            return [Finding(catalogue.DYNAMIC, "set " + " ".join(call.texts))]
        return ()

    def shift(self) -> Iterable[Outcome]:
        call = self._call
        if call.state.positional is not None:
            count = int(call.texts[0]) if call.texts and call.texts[0].isdigit() else 1
            call.state.positional = call.state.positional[count:]
        return ()

    def let(self) -> Iterable[Outcome]:
        for text in self._call.texts:
            self._call.state.forget(re.split(r"[^\w]", text)[0])
        plain = self._call.known and not any(mark in text for text in self._call.texts for mark in ("$(", "`", "["))
        return () if plain else [Finding(catalogue.DYNAMIC)]

    # interpreters, editors, git

    def interpreter(self) -> Iterable[Outcome]:
        roles, given = self._given.roles, self._call.input
        if module := roles.get("rest"):
            return self._module(module)
        if roles.get("code") or ((program := roles.get("program", [])) and program[0].text not in ("-", "/dev/stdin")):
            return ()
        roles.pop("program", None)
        if not given.given:
            return [Finding(catalogue.RUNS_CODE, "interactive")]
        if given.text is not None:
            return code_findings(self._call, given.text)
        return [Finding(catalogue.REMOTE_CODE if FETCHING & set(given.producers) else catalogue.HIDDEN_CODE)]

    def _module(self, values: list[Value]) -> Iterable[Outcome]:
        name, arguments = values[0].text, values[1:]
        if name in _TOOL_MODULES:
            return [Inner(tuple(values))]
        if name in _READING_MODULES and len(arguments) < 2:
            return reads(self._call, arguments)
        return [Finding(catalogue.RUNS_CODE, "module " + name)]

    def editor(self) -> Iterable[Outcome]:
        yield Finding(catalogue.RUNS_CODE, self._call.name)
        for line in "\n".join([*self._call.texts, self._call.input.text or ""]).splitlines():
            if command := _EDITOR_COMMAND.search(line):
                yield Finding(catalogue.RISKY_CODE, line)
                yield InnerScript(command[1] or command[2] or "", speculative=True)
            if written := re.match(r"(?:\+|:)?\s*(?:w|wq|saveas|r)!?\s+(/(?:etc|usr|boot)\S*)", line):
                yield Finding(catalogue.WRITES_SYSTEM, written[1])

    def git_config(self) -> list[Outcome]:
        operands = self._given.roles.get("text", [])
        operands = operands[1:] if operands and operands[0].text == "set" else operands
        if len(operands) < 2 or operands[0].text in ("get", "list"):
            return [] if operands else [Finding(catalogue.UNKNOWN_COMMAND, "git config")]
        found: list[Outcome] = [Finding(catalogue.PROTECTED_FILE, "git config " + self._given.line)]
        return [*found, *setting(operands[0].text, operands[1])]


def _script_file(file: Value) -> Finding:
    if FROM_NETWORK in file.text:
        return Finding(catalogue.REMOTE_CODE)
    return Finding(catalogue.HIDDEN_CODE if file.scripts else catalogue.RUNS_CODE, file.text)


def _quoted(values: Iterable[Value]) -> str:
    return " ".join(shlex.quote(value.text) for value in values)


def _filled(value: Value, placeholder: str, line: Value) -> Value:
    return Value(value.text.replace(placeholder, line.text), line.known) if placeholder in value.text else value
