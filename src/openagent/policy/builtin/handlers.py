"""Commands whose arguments are a little language of their own, and those that change the shell they run in."""

import re
import shlex
from collections.abc import Callable, Iterable

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Inner, InnerScript, Input, Outcome, reads, script_findings
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.describing import COMMANDS, Given, read_call
from openagent.policy.builtin.network import FETCHING
from openagent.policy.builtin.programs import code_findings
from openagent.policy.builtin.roles import ROLES, deletes, exfiltrates
from openagent.policy.builtin.variables import assigns, setting
from openagent.policy.paths import names_credentials
from openagent.policy.shell.values import FROM_NETWORK, UNKNOWN, Value

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
    if not call.values and command.bare:
        return []
    if len(call.values) == 1 and call.values[0].text in command.version:
        return []
    given = read_call(call)
    command, harmless = given.command, "harmless" in given.marks
    rules = catalogue.RULES
    found: list[Outcome] = [Finding(rules[mark], text) for mark, text in given.marks.items() if mark in rules]
    if given.unknown:
        dynamic = command.verbs and not given.unknown[0].known
        rule = catalogue.DYNAMIC if dynamic else catalogue.UNKNOWN_COMMAND
        found.append(Finding(rule, " ".join([*given.words, given.unknown[0].text])))
    if command.handler and not harmless:
        found.extend(HANDLERS[command.handler](call, given))
    for role, values in given.roles.items():
        found.extend(ROLES[role](call, values, given))
    for pattern, said in command.says:
        if met := pattern.search(given.line):
            found.extend(Finding(rules[rule], given.line) for rule in said if rule != "script")
            if "script" in said:
                found.extend(script_findings(next(filter(None, met.groups()), "")))
    if command.sends and not harmless:
        found.extend(exfiltrates(call))
    if command.finds and not harmless:
        found.append(Finding(rules[command.finds], " ".join([*given.words, given.line]).strip()))
    return found


# shells


def _input_findings(given: Input, positional: tuple[Value, ...] = ()) -> list[Outcome]:
    """Shell text that comes in on standard input."""
    if FETCHING & set(given.producers):
        return [Finding(catalogue.REMOTE_CODE)]
    if given.text is None or UNKNOWN in given.text:
        return [Finding(catalogue.HIDDEN_CODE), *([InnerScript(given.text, positional)] if given.text else [])]
    decoded = [Finding(catalogue.HIDDEN_CODE)] if _DECODING & set(given.producers) else []
    return [InnerScript(given.text, positional), *decoded]


def _script_file(file: Value) -> list[Outcome]:
    if FROM_NETWORK in file.text:
        return [Finding(catalogue.REMOTE_CODE)]
    return [Finding(catalogue.HIDDEN_CODE if file.scripts else catalogue.RUNS_CODE, file.text)]


def _shell(call: Call, given: Given) -> Iterable[Outcome]:
    found: list[Outcome] = []
    values = list(call.values)
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
            return [*found, *_input_findings(call.input, tuple(value for value in values if value.text != "--"))]
    if values and values[0].text == "--":
        values.pop(0)
    if values and not _INPUT_FILE.fullmatch(values[0].text):
        return [*found, *_script_file(values[0])]
    if not call.input.given:
        return [*found, Finding(catalogue.RUNS_CODE, "interactive")]
    return [*found, *_input_findings(call.input)]


def _source(call: Call, given: Given) -> Iterable[Outcome]:
    if call.values and call.input.given and _INPUT_FILE.fullmatch(call.values[0].text):
        return _input_findings(call.input)
    return _script_file(call.values[0]) if call.values else ()


def _evaluate(call: Call, given: Given) -> Iterable[Outcome]:
    text = " ".join(call.texts)
    if FROM_NETWORK in text:
        return [Finding(catalogue.REMOTE_CODE)]
    found: list[Outcome] = [InnerScript(text, None, same_shell=True)]
    return found if call.known else [*found, Finding(catalogue.DYNAMIC, text)]


def _env(call: Call, given: Given) -> Iterable[Outcome]:
    found: list[Outcome] = []
    values = list(call.values)
    while values:
        text = values[0].text
        if (assignment := _ASSIGNMENT.fullmatch(text)) and not text.startswith("-"):
            found.extend(assigns(assignment[1], Value(assignment[2], values.pop(0).known)))
        elif split := re.match(r"(?:--split-string(?:=|$)|-[iv0]*S)(.*)", text, re.DOTALL):
            values.pop(0)
            first = split[1] or (values.pop(0).text if values else "")
            return [*found, *script_findings(f"env {first} {_quoted(values)}")]
        elif text in ("-u", "--unset"):
            del values[:2]
        elif text in ("-C", "--chdir") or text.startswith("--chdir="):
            values.pop(0)
            folder = text.partition("=")[2] or (values.pop(0).text if values else "")
            return [*found, InnerScript(f"cd {shlex.quote(folder)} && {_quoted(values)}")]
        elif text.startswith("-"):
            values.pop(0)
        else:
            return [*found, Inner(tuple(values), call.input)]
    return [*found, Finding(catalogue.DUMPS_ENVIRONMENT)]


def _quoted(values: Iterable[Value]) -> str:
    return " ".join(shlex.quote(value.text) for value in values)


# commands for each of many


def _parallel(call: Call, given: Given) -> Iterable[Outcome]:
    texts = call.texts
    while texts and texts[0].startswith("-"):
        texts = texts[1:]
    template = texts[: next((index for index, text in enumerate(texts) if text.startswith(":::")), len(texts))]
    arguments = [text for text in texts[len(template) :] if not text.startswith(":::")]
    line = " ".join(template)
    lines = [line.replace("{}", each) if "{}" in line else f"{line} {each}" for each in arguments or [UNKNOWN]]
    return [Finding(catalogue.DYNAMIC, "parallel"), *map(InnerScript, lines)]


def _xargs(call: Call, given: Given) -> Iterable[Outcome]:
    values = given.roles.get("command", [])
    filled = given.roles.get("filled")
    placeholder = (filled[0].text if filled else "") or ("{}" if filled is not None else "")
    fetched = bool(FETCHING & set(call.input.producers))
    text = call.input.text
    if text is not None and not fetched:
        added = [Value(word) for word in (text.splitlines() if placeholder else text.split())[:16]]
    else:
        added = [Value(UNKNOWN + (FROM_NETWORK if fetched else ""), known=False)]
    if not values:
        return []
    if not placeholder:
        return [Inner((*values, *added))]
    return [Inner(tuple(_filled(value, placeholder, line) for value in values)) for line in added]


def _filled(value: Value, placeholder: str, line: Value) -> Value:
    return Value(value.text.replace(placeholder, line.text), line.known) if placeholder in value.text else value


def _find(call: Call, given: Given) -> Iterable[Outcome]:
    values = list(call.values)
    starts: list[Value] = []
    while values and values[0].text in ("-H", "-L", "-P"):
        values.pop(0)
    while values and not re.match(r"[-(!)]", values[0].text):
        starts.append(values.pop(0))
    starts = starts or [Value(".")]
    found: list[Outcome] = list(ROLES["look"](call, starts, given))
    while values:
        value = values.pop(0)
        option = given.command.options.get(value.text)
        if value.text in ("-exec", "-execdir", "-ok", "-okdir"):
            command: list[Value] = []
            while values and values[0].text not in (";", "+"):
                command.append(values.pop(0))
            found.extend(_for_each(call, starts, command))
        elif value.text == "-delete":
            found.extend(deletes(call, starts, recursive=True))
        elif not value.known:
            found.append(Finding(catalogue.DYNAMIC, "find"))
        elif option is None and value.text.startswith("-"):
            found.append(Finding(catalogue.UNKNOWN_COMMAND, "find " + value.text))
        elif option and option.role and values:
            values.pop(0)
    return found


def _for_each(call: Call, starts: list[Value], command: list[Value]) -> Iterable[Outcome]:
    sought = next((value.text for value in call.values if names_credentials(value.text)), UNKNOWN)
    for start in starts:
        inside = call.place(start) in ("workspace", "temporary") and start.known
        file = start if call.is_critical(start) else Value(f"{start.text}/{sought}", known=inside)
        yield Inner(tuple(Value(v.text.replace("{}", file.text), file.known) if "{}" in v.text else v for v in command))


# the shell itself


def _alias(call: Call, given: Given) -> Iterable[Outcome]:
    for value in call.values:
        if assignment := re.fullmatch(r"([^=\s]+)=(.*)", value.text, re.DOTALL):
            call.state.aliases[assignment[1]] = assignment[2]
            yield Finding(catalogue.STEERS_SHELL, value.text)
            yield from script_findings(assignment[2])


def _declare(call: Call, given: Given) -> Iterable[Outcome]:
    """export, declare, local …: the assignments are looked at where they are parsed."""
    if call.texts in (["-p"], ["-x"]) or (not call.values and call.name in ("export", "declare", "typeset")):
        yield Finding(catalogue.DUMPS_ENVIRONMENT)
    for value in call.values:
        if assignment := _ASSIGNMENT.fullmatch(value.text):
            yield from assigns(assignment[1], Value(assignment[2], value.known))
            call.state.assign(assignment[1], assignment[2], known=value.known)
        elif not value.known:
            yield Finding(catalogue.DYNAMIC, value.text)


def _move(call: Call, given: Given) -> Iterable[Outcome]:
    folders = given.roles.get("folder", [])
    call.state.move(folders[0] if folders else (Value("~") if call.name == "cd" else None))
    return ()


def _set(call: Call, given: Given) -> Iterable[Outcome]:
    if not call.values:
        return [Finding(catalogue.DUMPS_ENVIRONMENT)]
    if call.texts[0] == "--":
        sure = not call.state.conditional
        call.state.positional = tuple(Value(value.text, value.known and sure) for value in call.values[1:])
    elif not all(map(_SHELL_OPTION.fullmatch, call.texts)):
        return [Finding(catalogue.DYNAMIC, "set " + " ".join(call.texts))]
    return ()


def _shift(call: Call, given: Given) -> Iterable[Outcome]:
    if call.state.positional is not None:
        count = int(call.texts[0]) if call.texts and call.texts[0].isdigit() else 1
        call.state.positional = call.state.positional[count:]
    return ()


def _let(call: Call, given: Given) -> Iterable[Outcome]:
    for text in call.texts:
        call.state.forget(re.split(r"[^\w]", text)[0])
    plain = call.known and not any(mark in text for text in call.texts for mark in ("$(", "`", "["))
    return () if plain else [Finding(catalogue.DYNAMIC)]


# interpreters and editors


def _interpreter(call: Call, given: Given) -> Iterable[Outcome]:
    if given.roles.get("code"):
        return ()
    if module := given.roles.get("rest"):
        return _module(call, module)
    program = given.roles.get("program", [])
    if program and program[0].text not in ("-", "/dev/stdin"):
        return ()
    given.roles.pop("program", None)
    if not call.input.given:
        return [Finding(catalogue.RUNS_CODE, "interactive")]
    if call.input.text is not None:
        return code_findings(call, call.input.text)
    return [Finding(catalogue.REMOTE_CODE if FETCHING & set(call.input.producers) else catalogue.HIDDEN_CODE)]


def _module(call: Call, values: list[Value]) -> Iterable[Outcome]:
    name, arguments = values[0].text, values[1:]
    if name in _TOOL_MODULES:
        return [Inner(tuple(values))]
    if name in _READING_MODULES and len(arguments) < 2:
        return reads(call, arguments)
    return [Finding(catalogue.RUNS_CODE, "module " + name)]


def _editor(call: Call, given: Given) -> Iterable[Outcome]:
    yield Finding(catalogue.RUNS_CODE, call.name)
    for line in "\n".join([*call.texts, call.input.text or ""]).splitlines():
        if command := _EDITOR_COMMAND.search(line):
            yield Finding(catalogue.RISKY_CODE, line)
            yield InnerScript(command[1] or command[2] or "", speculative=True)
        written = re.match(r"(?:\+|:)?\s*(?:w|wq|saveas|r)!?\s+(/(?:etc|usr|boot)\S*)", line)
        if written:
            yield Finding(catalogue.WRITES_SYSTEM, written[1])


def _git_config(call: Call, given: Given) -> Iterable[Outcome]:
    operands = given.roles.get("text", [])
    operands = operands[1:] if operands and operands[0].text == "set" else operands
    if len(operands) < 2 or operands[0].text in ("get", "list"):
        return [] if operands else [Finding(catalogue.UNKNOWN_COMMAND, "git config")]
    found: list[Outcome] = [Finding(catalogue.PROTECTED_FILE, "git config " + given.line)]
    return [*found, *setting(operands[0].text, operands[1])]


HANDLERS: dict[str, Callable[[Call, Given], Iterable[Outcome]]] = {
    "shell": _shell,
    "source": _source,
    "evaluate": _evaluate,
    "env": _env,
    "parallel": _parallel,
    "xargs": _xargs,
    "find": _find,
    "alias": _alias,
    "declare": _declare,
    "move": _move,
    "set": _set,
    "shift": _shift,
    "let": _let,
    "interpreter": _interpreter,
    "editor": _editor,
    "git_config": _git_config,
}
