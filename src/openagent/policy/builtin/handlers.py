"""Commands whose arguments are a little language of their own, and those that change the shell they run in."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from openagent.policy.builtin.calls import Call, Inner, InnerScript, Outcome, reads, script_findings
from openagent.policy.builtin.catalogue import Finding, hit
from openagent.policy.builtin.programs import code_findings
from openagent.policy.builtin.roles import ASSIGNMENT, Roles, deletes
from openagent.policy.builtin.variables import assigns, setting
from openagent.policy.paths import names_credentials
from openagent.policy.shell.values import FROM_NETWORK, UNKNOWN, Value

if TYPE_CHECKING:
    from openagent.policy.builtin.describing import Given

_INPUT_FILE = re.compile(r"-|/dev/stdin|/dev/fd/\d|/proc/[^/]+/fd/\d")
_TOOL_MODULES = frozenset(("pip", "twine", "build", "uv", "poetry", "ruff", "coverage", "pytest", "mypy", "black"))
_READING_MODULES = frozenset(("json.tool", "tokenize", "platform", "sysconfig", "this"))
_SHELL_OPTION = re.compile(r"[-+][euxfnvCo]+|pipefail|errexit|nounset|xtrace|noglob|noclobber")


class Handlers:
    """Each method is a handler, by its name."""

    def __init__(self, call: Call, given: "Given") -> None:
        self._call = call
        self._given = given

    # shells

    def shell(self) -> list[Outcome]:
        values, marks = self._given.roles.get("command", []), self._given.marks
        if "inline" in marks:
            if not values:
                return [hit("not-understood")]
            found = script_findings(values[0].text, tuple(values[2:]))
            return found if values[0].known else [*found, hit("dynamic")]
        if values and "stdin" not in marks and not _INPUT_FILE.fullmatch(values[0].text):
            return [_script_file(values[0])]
        return self._from_input(tuple(values) if "stdin" in marks else ())

    def _from_input(self, positional: tuple[Value, ...] = ()) -> list[Outcome]:
        """Shell text that comes in on standard input."""
        given = self._call.input
        if not given.given:
            return [hit("runs-code", "interactive")]
        if given.fetched:
            return [hit("remote-code")]
        hidden = given.text is None or UNKNOWN in given.text or given.decoded
        found: list[Outcome] = [hit("hidden-code")] if hidden else []
        return [*found, InnerScript(given.text, positional)] if given.text else found

    def source(self) -> list[Outcome]:
        values = self._call.values
        if values and self._call.input.given and _INPUT_FILE.fullmatch(values[0].text):
            return self._from_input()
        return [_script_file(values[0])] if values else []

    def evaluate(self) -> list[Outcome]:
        text = " ".join(self._call.texts)
        if FROM_NETWORK in text:
            return [hit("remote-code")]
        found: list[Outcome] = [InnerScript(text, None, same_shell=True)]
        return found if self._call.known else [*found, hit("dynamic", text)]

    # commands for each of many

    def xargs(self) -> list[Outcome]:
        values = self._given.roles.get("command", [])
        filled = self._given.roles.get("filled")
        placeholder = (filled[0].text if filled else "") or ("{}" if filled is not None else "")
        fetched = self._call.input.fetched
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
                yield hit("dynamic", "find")
            elif option is None and value.text.startswith("-"):
                yield hit("unknown-command", "find " + value.text)
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
                yield hit("steers-shell", value.text)
                yield from script_findings(assignment[2])

    def declare(self) -> Iterable[Outcome]:
        """export, declare, local …: the assignments are looked at where they are parsed."""
        call = self._call
        if call.texts in (["-p"], ["-x"]) or (not call.values and call.name in ("export", "declare", "typeset")):
            yield hit("dumps-environment")
        for value in call.values:
            if assignment := ASSIGNMENT.fullmatch(value.text):
                yield from assigns(assignment[1], Value(assignment[2], value.known))
                call.state.assign(assignment[1], assignment[2], known=value.known)
            elif not value.known:
                yield hit("dynamic", value.text)

    def move(self) -> Iterable[Outcome]:
        folders = self._given.roles.get("folder", [])
        self._call.state.move(folders[0] if folders else (Value("~") if self._call.name == "cd" else None))
        return ()

    def set(self) -> Iterable[Outcome]:
        call = self._call
        if not call.values:
            return [hit("dumps-environment")]
        if call.texts[0] == "--":
            sure = not call.state.conditional
            call.state.positional = tuple(Value(value.text, value.known and sure) for value in call.values[1:])
        elif not all(map(_SHELL_OPTION.fullmatch, call.texts)):
            return [hit("dynamic", "set " + " ".join(call.texts))]
        return ()

    def shift(self) -> Iterable[Outcome]:
        call = self._call
        if call.state.positional is not None:
            count = int(call.texts[0]) if call.texts and call.texts[0].isdigit() else 1
            call.state.positional = call.state.positional[count:]
        return ()

    # interpreters, git

    def interpreter(self) -> Iterable[Outcome]:
        roles, given = self._given.roles, self._call.input
        if module := roles.get("rest"):
            return self._module(module)
        if roles.get("code") or ((program := roles.get("program", [])) and program[0].text not in ("-", "/dev/stdin")):
            return ()
        roles.pop("program", None)
        if not given.given:
            return [hit("runs-code", "interactive")]
        if given.text is not None:
            return code_findings(self._call, given.text)
        return [hit("remote-code" if given.fetched else "hidden-code")]

    def _module(self, values: list[Value]) -> Iterable[Outcome]:
        name, arguments = values[0].text, values[1:]
        if name in _TOOL_MODULES:
            return [Inner(tuple(values))]
        if name in _READING_MODULES and len(arguments) < 2:
            return reads(self._call, arguments)
        return [hit("runs-code", "module " + name)]

    def git_config(self) -> list[Outcome]:
        operands = self._given.roles.get("text", [])
        operands = operands[1:] if operands and operands[0].text == "set" else operands
        if len(operands) < 2 or operands[0].text in ("get", "list"):
            return [] if operands else [hit("unknown-command", "git config")]
        found: list[Outcome] = [hit("protected-file", "git config " + self._given.line)]
        return [*found, *setting(operands[0].text, operands[1])]


def _script_file(file: Value) -> Finding:
    if FROM_NETWORK in file.text:
        return hit("remote-code")
    return hit("hidden-code" if file.process else "runs-code", file.text)


def _filled(value: Value, placeholder: str, line: Value) -> Value:
    return Value(value.text.replace(placeholder, line.text), line.known) if placeholder in value.text else value
