"""Commands that run other commands."""

import re
import shlex
from collections.abc import Iterable

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, Inner, InnerScript, Input, Outcome, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.files import deletes
from openagent.policy.builtin.network import DECODING, FETCHING
from openagent.policy.builtin.system import assigns
from openagent.policy.paths import names_credentials
from openagent.policy.shell.values import FROM_NETWORK, UNKNOWN, Value

_INPUT_FILE = re.compile(r"-|/dev/stdin|/dev/fd/\d|/proc/[^/]+/fd/\d")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def script_findings(text: str, positional: tuple[Value, ...] = ()) -> list[Outcome]:
    """Shell text that is run; where it holds unknown pieces, what could be known of it is looked at as well."""
    if FROM_NETWORK in text:
        return [Finding(catalogue.REMOTE_CODE)]
    found: list[Outcome] = [InnerScript(text, positional)]
    if UNKNOWN in text:
        found.append(Finding(catalogue.DYNAMIC, text))
    return found


def input_findings(given: Input, positional: tuple[Value, ...] = ()) -> list[Outcome]:
    """Shell text that comes in on standard input."""
    if FETCHING & set(given.producers):
        return [Finding(catalogue.REMOTE_CODE)]
    if given.text is None or UNKNOWN in given.text:
        return [Finding(catalogue.HIDDEN_CODE), *([InnerScript(given.text, positional)] if given.text else [])]
    found: list[Outcome] = [InnerScript(given.text, positional)]
    if DECODING - {"printf"} & set(given.producers):
        found.append(Finding(catalogue.HIDDEN_CODE))
    return found


def script_file_findings(file: Value) -> list[Outcome]:
    if FROM_NETWORK in file.text:
        return [Finding(catalogue.REMOTE_CODE)]
    return [Finding(catalogue.HIDDEN_CODE if file.scripts else catalogue.RUNS_CODE, file.text)]


def _shell(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = []
    values = list(call.values)
    while values and values[0].text[:1] in ("-", "+") and values[0].text not in ("-", "--"):
        option = values.pop(0)
        text = option.text
        if text in ("--version", "--help"):
            return ()
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
            return [*found, *input_findings(call.input, tuple(value for value in values if value.text != "--"))]
    if values and values[0].text == "--":
        values.pop(0)
    if not values or _INPUT_FILE.fullmatch(values[0].text):
        return [
            *found,
            *(input_findings(call.input) if call.input.given else [Finding(catalogue.RUNS_CODE, "interactive")]),
        ]
    return [*found, *script_file_findings(values[0])]


def _source(call: Call) -> Iterable[Outcome]:
    if call.values and call.input.given and _INPUT_FILE.fullmatch(call.values[0].text):
        return input_findings(call.input)
    return script_file_findings(call.values[0]) if call.values else ()


def _eval(call: Call) -> Iterable[Outcome]:
    text = " ".join(call.texts)
    if FROM_NETWORK in text:
        return [Finding(catalogue.REMOTE_CODE)]
    found: list[Outcome] = [InnerScript(text, None, same_shell=True)]
    return found if call.known else [*found, Finding(catalogue.DYNAMIC, text)]


def _env(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = []
    values = list(call.values)
    while values:
        text = values[0].text
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment and not text.startswith("-"):
            found.extend(assigns(call, assignment[1], Value(assignment[2], values.pop(0).known)))
        elif (
            text in ("-S", "--split-string")
            or text.startswith(("-S", "--split-string="))
            or re.fullmatch(r"-[iv0]*S.*", text)
        ):
            values.pop(0)
            attached = re.sub(r"^(?:--split-string=?|-[iv0]*S)", "", text)
            first = attached or (values.pop(0).text if values else "")
            rest = " ".join(shlex.quote(value.text) for value in values)
            return [*found, *script_findings(f"env {first} {rest}")]
        elif text in ("-u", "--unset"):
            del values[:2]
        elif text in ("-C", "--chdir") or text.startswith("--chdir="):
            values.pop(0)
            folder = text.partition("=")[2] or (values.pop(0).text if values else "")
            return [*found, InnerScript(_in_folder(folder, values))]
        elif (text.startswith("-") and text != "-") or text == "-":
            values.pop(0)
        else:
            return [*found, Inner(tuple(values), call.input)]
    return [*found, Finding(catalogue.DUMPS_ENVIRONMENT)]


def _in_folder(folder: str, values: list[Value]) -> str:
    return f"cd {shlex.quote(folder)} && " + " ".join(shlex.quote(value.text) for value in values)


def passes_on(with_value: str = "", skip: int = 0, finding: catalogue.BuiltinRule | None = None) -> Handler:
    """`nice -n 5 CMD`: options, then `skip` operands, then the command."""
    taking = frozenset(with_value.split())

    def handle(call: Call) -> Iterable[Outcome]:
        found: list[Outcome] = [Finding(finding)] if finding else []
        values = list(call.values)
        skipped = 0
        while values:
            text = values[0].text
            if text == "--":
                values.pop(0)
                break
            if text in taking:
                del values[:2]
            elif text.startswith("-") and len(text) > 1:
                values.pop(0)
            elif assignment := _ASSIGNMENT.fullmatch(text):
                found.extend(assigns(call, assignment[1], Value(assignment[2], values.pop(0).known)))
            elif skipped < skip:
                skipped += 1
                values.pop(0)
            else:
                break
        del values[: skip - skipped]
        if values:
            found.append(Inner(tuple(values), call.input))
        # Should an option have taken a value unseen, the command starts further on.
        found.extend(Inner(tuple(values[index:]), speculative=True) for index in range(1, min(len(values), 4)))
        return found

    return handle


def _command(call: Call) -> Iterable[Outcome]:
    return () if call.texts[:1] in (["-v"], ["-V"]) else passes_on()(call)


def _privileged(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = [Finding(catalogue.PRIVILEGE, call.name)]
    if call.name == "su" or call.has("", "command", "session-command"):
        command = call.option("c", "command", "session-command")
        return [*found, *script_findings(command)] if command else found
    options = "-u -g -h -p -C -r -t -T -U -D -R --user --group --prompt --chdir --chroot --close-from --host"
    return [*found, *passes_on(options)(call)]


def _watch(call: Call) -> Iterable[Outcome]:
    operands = call.operands("-n --interval -q --equexit")
    return script_findings(" ".join(value.text for value in operands))


def _flock(call: Call) -> Iterable[Outcome]:
    command = call.option("c", "command")
    return script_findings(command) if command else passes_on("-w -E", skip=1)(call)


def _parallel(call: Call) -> Iterable[Outcome]:
    operands = call.operands("-j --jobs -a --arg-file -S --sshlogin --joblog --results --colsep -n -N -I -L")
    texts = [value.text for value in operands]
    template = texts[: next((index for index, text in enumerate(texts) if text.startswith(":::")), len(texts))]
    arguments = [text for text in texts[len(template) :] if not text.startswith(":::")]
    if call.has("S", "sshlogin"):
        return [Finding(catalogue.REMOTE_SHELL)]
    found: list[Outcome] = [Finding(catalogue.DYNAMIC, "parallel")]
    line = " ".join(template)
    lines = [
        line.replace("{}", argument) if "{}" in line else f"{line} {argument}" for argument in arguments or [UNKNOWN]
    ]
    return [*found, *map(InnerScript, lines)]


def _xargs(call: Call) -> Iterable[Outcome]:
    values = list(call.values)
    placeholder = ""
    while values and values[0].text.startswith("-"):
        text = values.pop(0).text
        if text in ("-I", "--replace", "-J"):
            placeholder = values.pop(0).text if values else "{}"
        elif text.startswith("-I"):
            placeholder = text[2:]
        elif text in ("-i", "--replace"):
            placeholder = "{}"
        elif text in (
            "-n",
            "-L",
            "-P",
            "-s",
            "-d",
            "-E",
            "-a",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "--max-lines",
        ):
            del values[:1]
        elif text == "--":
            break
    given = call.input
    if given.text is not None and not FETCHING & set(given.producers):
        added = [Value(word) for word in (given.text.splitlines() if placeholder else given.text.split())[:16]]
    elif given.workspace_files:
        added = [Value("./" + UNKNOWN)]
    else:
        added = [Value(UNKNOWN + (FROM_NETWORK if FETCHING & set(given.producers) else ""), known=False)]
    if not values:
        return ()
    if not placeholder:
        return [Inner((*values, *added))]
    return [Inner(tuple(_filled(value, placeholder, line) for value in values)) for line in added]


def _filled(value: Value, placeholder: str, line: Value) -> Value:
    return Value(value.text.replace(placeholder, line.text), line.known) if placeholder in value.text else value


_FIND_STARTS = re.compile(r"[-(!)]")


def _find(call: Call) -> Iterable[Outcome]:
    starts: list[Value] = []
    values = list(call.values)
    while values and values[0].text in ("-H", "-L", "-P"):
        values.pop(0)
    while values and not _FIND_STARTS.match(values[0].text):
        starts.append(values.pop(0))
    starts = starts or [Value(".")]
    found: list[Outcome] = []
    while values:
        value = values.pop(0)
        if not value.known:
            found.append(Finding(catalogue.DYNAMIC, "find"))
        if value.text in ("-exec", "-execdir", "-ok", "-okdir"):
            command: list[Value] = []
            while values and values[0].text not in (";", "+"):
                command.append(values.pop(0))
            found.extend(_for_each(call, starts, command))
        elif value.text == "-delete":
            found.extend(_deleted(call, starts))
        elif value.text in ("-fprint", "-fprint0", "-fprintf", "-fls") and values:
            found.extend(writes(call, values.pop(0)))
    return found


def _for_each(call: Call, starts: list[Value], command: list[Value]) -> Iterable[Outcome]:
    sought = next((value.text for value in call.values if names_credentials(value.text)), UNKNOWN)
    for start in starts:
        inside = call.place(start) in ("workspace", "temporary") and start.known
        file = start if call.is_critical(start) else Value(f"{start.text}/{sought}", known=inside)
        yield Inner(tuple(Value(v.text.replace("{}", file.text), file.known) if "{}" in v.text else v for v in command))


def _deleted(call: Call, starts: list[Value]) -> Iterable[Outcome]:
    for start in starts:
        if call.place(start) == "temporary":
            yield Finding(catalogue.RECURSIVE_DELETE, start.text)
        else:
            yield from deletes(call, [start], recursive=True)


def _fd(call: Call) -> Iterable[Outcome]:
    values = call.values
    for index, value in enumerate(values):
        if value.text in ("-x", "-X", "--exec", "--exec-batch"):
            return [Inner((*values[index + 1 :], Value("./" + UNKNOWN)))]
    return ()


def _alias(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = []
    for value in call.values:
        if assignment := re.fullmatch(r"([^=\s]+)=(.*)", value.text, re.DOTALL):
            call.state.aliases[assignment[1]] = assignment[2]
            found += [Finding(catalogue.STEERS_SHELL, value.text), *script_findings(assignment[2])]
    return found


def _declare(call: Call) -> Iterable[Outcome]:
    """export, declare, local …: the assignments are looked at where they are parsed."""
    found: list[Outcome] = []
    if call.texts in (["-p"], ["-x"]) or (not call.values and call.name in ("export", "declare", "typeset")):
        found.append(Finding(catalogue.DUMPS_ENVIRONMENT))
    for value in call.values:
        if assignment := _ASSIGNMENT.fullmatch(value.text):
            found.extend(assigns(call, assignment[1], Value(assignment[2], value.known)))
            call.state.assign(assignment[1], assignment[2], known=value.known)
        elif not value.known:
            found.append(Finding(catalogue.DYNAMIC, value.text))
    if call.has("fn"):
        found.append(Finding(catalogue.STEERS_SHELL, " ".join(call.texts)))
    return found


def _trap(call: Call) -> Iterable[Outcome]:
    operands = call.operands()
    return script_findings(operands[0].text) if len(operands) > 1 and operands[0].text != "-" else ()


def _change_directory(call: Call) -> Iterable[Outcome]:
    operands = call.operands()
    call.state.move(operands[0] if operands else (Value("~") if call.name == "cd" else None))
    return ()


def _shift(call: Call) -> Iterable[Outcome]:
    if call.state.positional is not None:
        count = int(call.texts[0]) if call.texts and call.texts[0].isdigit() else 1
        call.state.positional = call.state.positional[count:]
    return ()


def _getopts(call: Call) -> Iterable[Outcome]:
    for name in call.values[1:2]:
        call.state.forget(name.text)
    return ()


def _let(call: Call) -> Iterable[Outcome]:
    for text in call.texts:
        call.state.forget(re.split(r"[^\w]", text)[0])
    return (
        ()
        if call.known and not any("$(" in text or "`" in text or "[" in text for text in call.texts)
        else [Finding(catalogue.DYNAMIC)]
    )


def _table() -> dict[str, Handler]:
    groups: dict[str, Handler] = {
        "bash sh zsh dash ksh ash mksh fish rbash csh tcsh": _shell,
        "source .": _source,
        "eval": _eval,
        "env": _env,
        "nice": passes_on("-n --adjustment"),
        "nohup setsid builtin unbuffer catchsegv caffeinate xvfb-run busybox toybox dbus-run-session "
        "proxychains4 torsocks setarch linux64 coproc": passes_on(),
        "timeout gtimeout": passes_on("-s -k --signal --kill-after", skip=1),
        "time": passes_on("-f -o --format --output"),
        "stdbuf": passes_on("-i -o -e --input --output --error"),
        "ionice": passes_on("-c -n -p --class --classdata"),
        "chrt taskset": passes_on("-p", skip=1),
        "strace ltrace": passes_on("-e -o -s -p -u -P -E", finding=catalogue.RUNS_CODE),
        "chroot": passes_on(skip=1, finding=catalogue.PRIVILEGE),
        "unshare nsenter proot firejail bwrap systemd-run run0": passes_on("-t -S -G", finding=catalogue.PRIVILEGE),
        "command": _command,
        "exec": passes_on("-a"),
        "sudo doas su pkexec runuser gosu setpriv su-exec sudoedit": _privileged,
        "watch": _watch,
        "flock": _flock,
        "script": lambda call: script_findings(call.option("c", "command") or ""),
        "parallel": _parallel,
        "xargs gxargs": _xargs,
        "find gfind": _find,
        "fd fdfind": _fd,
        "alias": _alias,
        "unalias": lambda call: (),
        "export declare typeset local readonly": _declare,
        "trap": _trap,
        "cd pushd popd chdir": _change_directory,
        "let": _let,
        "enable bind complete compgen": lambda call: [Finding(catalogue.STEERS_SHELL)],
        "getopts": _getopts,
        "shift": _shift,
        "hash": lambda call: [Finding(catalogue.STEERS_SHELL)] if call.has("p") else (),
    }
    return {name: handler for listed, handler in groups.items() for name in listed.split()}


WRAPPERS = _table()
