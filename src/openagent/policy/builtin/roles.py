"""What the arguments of a described command are, role by role: a file read, one written, a script, a program …"""

import posixpath
import re
from collections.abc import Callable, Iterable

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Inner, InnerScript, Outcome, looks, reads, script_findings, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.describing import Given
from openagent.policy.builtin.network import FETCHING
from openagent.policy.builtin.output import static_output
from openagent.policy.builtin.programs import awk, code_findings, jq, sed
from openagent.policy.builtin.variables import assigns, setting
from openagent.policy.shell.values import FROM_NETWORK, SENSITIVE, UNKNOWN, Value

Role = Callable[[Call, list[Value], Given], Iterable[Outcome]]
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def exfiltrates(call: Call) -> list[Outcome]:
    """What is sent holds keys, tokens or the environment."""
    if call.input.sensitive or any(SENSITIVE in text for text in call.texts):
        return [Finding(catalogue.SENDS_CREDENTIALS)]
    return []


# files


def deletes(call: Call, targets: Iterable[Value], *, recursive: bool) -> list[Outcome]:
    found: list[Outcome] = []
    for target in targets:
        place = call.place(target)
        if call.is_critical(target) or place == "system":
            rule = catalogue.DESTROYS_SYSTEM
        elif recursive and paths.may_be_critical(target.text):
            rule = catalogue.DYNAMIC_DANGER
        elif recursive and _holds_history(call, target):
            rule = catalogue.DELETES_REPOSITORY
        elif place == "device":
            rule = catalogue.WRITES_DEVICE
        elif re.search(r"\.(?:bash|zsh|python)_history$", target.text):
            rule = catalogue.HIDES_TRACKS
        elif place in ("protected", "startup"):
            rule = catalogue.PROTECTED_FILE
        else:
            rule = catalogue.RECURSIVE_DELETE if recursive else catalogue.DELETES
            if place == "outside" or (place == "home" and target.text[:1] != "~"):
                found.append(Finding(catalogue.WRITES_OUTSIDE, target.text))
            elif not target.known:
                found.append(Finding(catalogue.DYNAMIC, target.text))
        found.append(Finding(rule, target.text))
    return found


def _holds_history(call: Call, target: Value) -> bool:
    repository = posixpath.join(call.workspace, ".git")
    history = (repository, f"{repository}/*", f"{repository}/objects", f"{repository}/refs")
    folders = [call.workspace if folder is None else folder for folder in call.state.folders]
    return any(posixpath.normpath(posixpath.join(folder, target.text)) in history for folder in folders)


def _delete(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    recursive = "recursive" in given.marks or call.name == "srm"
    return deletes(call, values, recursive=recursive) or [Finding(catalogue.DELETES)]


def _write(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return [outcome for value in values if value.text != "-" for outcome in writes(call, value)]


def _copy(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Also a protected name that arrives inside a folder: `cp -r x/.git .`"""
    for source in values:
        if paths.names_credentials(source.text, call.state.cwd):
            yield Finding(catalogue.READS_CREDENTIALS, source.text)
        else:
            yield from looks(call, source)
        for destination in given.roles.get("write", []):
            inside = f"{destination.text.rstrip('/')}/{source.text.rstrip('/').rsplit('/', 1)[-1]}"
            if call.place(destination) == "workspace" and call.place(Value(inside)) == "protected":
                yield Finding(catalogue.PROTECTED_FILE, inside)


def _move(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    yield from _copy(call, values, given)
    for source in values:
        if call.is_critical(source) or call.place(source) == "system":
            yield Finding(catalogue.DESTROYS_SYSTEM, source.text)
        else:
            yield from writes(call, source)


def _link(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    yield from _copy(call, values, given)
    for source in values:
        if call.place(source) not in ("workspace", "null"):
            yield Finding(catalogue.WRITES_OUTSIDE, f"a link to {source.text}")


def _edit(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Files of sed: written with -i, read without."""
    return _write(call, values, given) if "inplace" in given.marks else reads(call, values)


def _permit(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    mode = " ".join(value.text for value in given.roles.get("mode", []))
    for target in values:
        if call.is_critical(target) or call.place(target) in ("system", "device"):
            return [Finding(catalogue.OPENS_SYSTEM, target.text)]
        if call.place(target) in ("protected", "startup"):
            return [Finding(catalogue.PROTECTED_FILE, target.text)]
    opens = re.search(r"^[0-7]*[2367]$|^[2467][0-7]{3}$|[oa]?\+[rwxX]*w|o[=+]\S*w|\+s|=\S*s|\+t", mode)
    if opens or "-R" in given.line or not all(target.known for target in values):
        return [Finding(catalogue.OPENS_PERMISSIONS, mode)]
    return [outcome for target in values for outcome in writes(call, target)]


def _dd(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    for value in values:
        key, _, target = value.text.partition("=")
        if key == "of":
            yield from writes(call, Value(target, value.known))
        elif key == "if":
            yield from reads(call, [Value(target, value.known)])


def _packs(given: Given) -> bool:
    return "c" in (given.rest[0].text if given.rest else "") or "--create" in given.line


def _archive(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Written by `tar c`, read otherwise. What is packed or unpacked matters where it is secret."""
    return _write(call, values, given) if _packs(given) else reads(call, [value for value in values if value.known])


def _into(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return _look(call, values, given) if _packs(given) else _write(call, values, given)


def _secret(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return reads(call, [value for value in values if paths.names_credentials(value.text)])


def _look(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return [outcome for value in values for outcome in looks(call, value)]


def _format(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Rewrites files unless it only checks them."""
    return () if "harmless" in given.marks else _write(call, values or [Value(".")], given)


# what runs


def _script(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Shell text. As an operand its words are joined; as an option's value each stands alone."""
    texts = [value.text for value in values]
    joined = [" ".join(texts)] if ("script", True) in (given.command.operands or ()) else texts
    return [outcome for text in joined if text for outcome in script_findings(text)]


def _helper(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """A program that is started on the side."""
    for value in values:
        yield Finding(catalogue.RISKY_CODE, value.text)
        yield from script_findings(value.text.removeprefix("exec="))


def _run(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    while values and (assignment := _ASSIGNMENT.fullmatch(values[0].text)):
        yield from assigns(assignment[1], Value(assignment[2], values[0].known))
        values = values[1:]
    yield Inner(tuple(values), call.input)
    # Should an option have taken a value unseen, the command starts further on.
    for index in range(1, min(len(values), 4)):
        yield Inner(tuple(values[index:]), speculative=True)


def _rest(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """`fd -x`: for each file."""
    return [Inner((*values, Value("./" + UNKNOWN)))] if given.command.handler != "interpreter" else ()


def _code(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return code_findings(call, "\n".join(value.text for value in values)) if values else ()


def _program(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """A file with a program."""
    for value in values:
        if FROM_NETWORK in value.text:
            yield Finding(catalogue.REMOTE_CODE)
        yield Finding(catalogue.HIDDEN_CODE if value.scripts else catalogue.RUNS_CODE, value.text)
        yield from reads(call, [value])


def _trap(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return [f for value in values for f in script_findings(value.text) if value.text not in ("-", "")]


# variables


def _names(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Variables that get a value only when it runs. A guess stays, by which danger is still seen."""
    origin = FROM_NETWORK if FETCHING & set(call.input.producers) else ""
    guess = (call.input.text or "").partition("\n")[0].strip()
    if call.name == "printf":
        guess = static_output(Call("printf", call.values[2:], call.input, call.state, call.workspace)) or ""
    for value in (*values, Value("REPLY"), Value("MAPFILE")):
        if value.text.startswith(UNKNOWN):
            yield Finding(catalogue.DYNAMIC)
        yield from assigns(value.text, Value(UNKNOWN, known=False))
        call.state.assign(value.text, guess or UNKNOWN + origin, known=False)


# network


def _send(call: Call, values: list[Value], given: Given, *, file: bool = False) -> Iterable[Outcome]:
    for value in values:
        sent = value.text.partition("=")[2] if re.match(r"[\w.-]+=[@<]", value.text) else value.text
        if not file and not sent.startswith(("@", "<", UNKNOWN)):
            continue
        secret = paths.names_credentials(sent.lstrip("@<").partition(";")[0])
        yield Finding(catalogue.SENDS_CREDENTIALS if secret else catalogue.UPLOADS, sent)


def _upload(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return _send(call, values, given, file=True)


def _url(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return reads(call, [Value(value.text[7:]) for value in values if value.text.startswith("file:")])


def _remote(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """scp, sftp, rsync: the last operand is where things go."""
    remote = any(re.match(r"(?:[\w.-]+@)?[\w.-]+:|rsync://", v.text) for v in values) or call.name == "sftp"
    if remote:
        yield Finding(catalogue.UPLOADS)
        if any(paths.names_credentials(value.text) for value in values[:-1]):
            yield Finding(catalogue.SENDS_CREDENTIALS)
        return
    yield from reads(call, values[:-1])
    yield from _write(call, values[-1:], given)
    if "recursive" in given.marks:
        yield from deletes(call, values[-1:], recursive=True)


def _sshoption(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    proxied = (re.match(r"\s*(?:ProxyCommand|LocalCommand)[= ](.*)", value.text) for value in values)
    return [InnerScript(command[1]) for command in proxied if command]


def _mount(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    for value in values:
        source = re.sub(r".*(?:src|source)=([^,]*).*", r"\1", value.text).partition(":")[0]
        place = call.place(Value(source))
        if "docker.sock" in source or call.is_critical(Value(source)) or place in ("system", "device"):
            yield Finding(catalogue.CONTAINER_ESCAPE, source)
        elif paths.names_credentials(source):
            yield Finding(catalogue.READS_CREDENTIALS, source)


# git


def _object(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Revisions and files: `HEAD:.env`."""
    return reads(call, [Value(value.text.rpartition(":")[2], value.known) for value in values])


def _create(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """A branch or tag, unless they are listed."""
    return [Finding(catalogue.GIT_CHANGES, given.line)] if values and "listing" not in given.marks else []


def _checkout(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    texts = [value.text for value in values]
    loses = "--" in given.marks or "." in texts or any("*" in text for text in texts)
    return [Finding(catalogue.GIT_DESTROYS, given.line)] if loses or (texts[1:] and "new" not in given.marks) else []


def _restore(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    only_index = "staged" in given.marks and "worktree" not in given.marks
    return [Finding(catalogue.GIT_CHANGES if only_index else catalogue.GIT_DESTROYS, given.line)]


def _transport(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    for value in values:
        if value.text.startswith(("ext::", "fd::")):
            yield Finding(catalogue.RISKY_CODE, value.text)
            yield InnerScript(value.text[5:])


def _repository(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    """Another repository's configuration names programs that git runs."""
    return [Finding(catalogue.STEERS_SHELL, value.text) for value in values if call.place(value) != "workspace"]


def _setting(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    for value in values:
        key, _, text = value.text.partition("=")
        yield from setting(key, Value(text, value.known))


def _ignored(call: Call, values: list[Value], given: Given) -> Iterable[Outcome]:
    return ()


ROLES: dict[str, Role] = {
    **dict.fromkeys(("text", "pattern", "mode", "folder", "command", "filled"), _ignored),
    "look": _look,
    "read": lambda call, values, given: reads(call, values),
    "write": _write,
    "edit": _edit,
    "copy": _copy,
    "move": _move,
    "link": _link,
    "delete": _delete,
    "permit": _permit,
    "dd": _dd,
    "archive": _archive,
    "into": _into,
    "member": _secret,
    "pair": _secret,
    "value": _secret,
    "format": _format,
    "script": _script,
    "helper": _helper,
    "run": _run,
    "rest": _rest,
    "code": _code,
    "program": _program,
    "trap": _trap,
    "names": _names,
    "sed": sed,
    "awk": awk,
    "jq": jq,
    "send": _send,
    "upload": _upload,
    "url": _url,
    "remote": _remote,
    "sshoption": _sshoption,
    "mount": _mount,
    "object": _object,
    "create": _create,
    "checkout": _checkout,
    "restore": _restore,
    "transport": _transport,
    "repository": _repository,
    "setting": _setting,
    "steer": lambda call, values, given: [Finding(catalogue.STEERS_SHELL, value.text) for value in values],
}
