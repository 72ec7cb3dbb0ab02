"""What the arguments of a described command are, role by role: a file read, one written, a script, a program …"""

import itertools
import re
import shlex
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from openagent.bash import UNKNOWN
from openagent.bash.values import FROM_NETWORK, Value
from openagent.policy import paths
from openagent.policy.builtin.calls import (
    Call,
    Inner,
    InnerScript,
    Outcome,
    looks,
    reads,
    script_findings,
    started,
    writes,
)
from openagent.policy.builtin.catalogue import Finding, hit
from openagent.policy.builtin.output import static_output
from openagent.policy.builtin.programs import awk_findings, code_findings, sed_findings
from openagent.policy.builtin.variables import assigns, setting

if TYPE_CHECKING:
    from openagent.policy.builtin.describing import Given

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
CONVERTING = re.compile(r"[-+]\w*[nliuc]")
"""With these a declared variable holds something else than what it is given."""
_OPENS = re.compile(r"^[0-7]*[2367]$|^[2467][0-7]{3}$|[oa]?\+[rwxX]*w|o[=+]\S*w|\+s|=\S*s|\+t")
_INPUT_FILE = re.compile(r"-|/dev/stdin|/dev/fd/\d|/proc/[^/]+/fd/\d")
_BY_NAME = re.compile("-i?(?:name|path|wholename|regex)")
_EMPTYING = frozenset(("rm", "unlink", "shred", "truncate", "mv"))
_TOOL_MODULES = frozenset(("pip", "twine", "build", "uv", "poetry", "ruff", "coverage", "pytest", "mypy", "black"))
_READING_MODULES = frozenset(("json.tool", "tokenize", "platform", "sysconfig", "this"))
_SET = re.compile(r"([^\s=/-][^=/]*)=(.*)", re.DOTALL)
"""`env` takes any name."""
_CRON = re.compile(r"^[ \t]*(?:@\w+|(?:[\d*][^\s=]*[ \t]+){4}[^\s=]+)[ \t]+([^\n]*)$", re.MULTILINE)
_SQLITE = re.compile(r"\.(?:sh|sy)[a-z]*\s+([^\n]*)|\.(?:r|im|o)[a-z]*\s[^\n]*?\|([^\n]*)")
_TMUX_TELLS = re.compile(
    r"ls|list-.*|kill-.*|capture.*|a|at|attach.*|has.*|display|display-m.*|show.*|select.*|resize.*|rename.*|detach.*"
)
_KEY = re.compile(r"C-\w|M-\w|Up|Down|Left|Right|Escape|Tab|BSpace|NPage|PPage")
_SHELL_OPTION = re.compile(r"[-+][euxfnvCo]+|pipefail|errexit|nounset|xtrace|noglob|noclobber")
Values = list[Value]


def deletes(call: Call, targets: Iterable[Value], *, recursive: bool, chosen: bool = False) -> list[Outcome]:
    """`chosen`: by their names, of all that is below the targets."""
    found: list[Outcome] = []
    for target in targets:
        name = _deleted(call, target, recursive=recursive, chosen=chosen)
        if name in ("deletes", "recursive-delete"):
            if looks(call, target):
                found.append(hit("writes-outside", target.text))
            elif not target.known:
                found.append(hit("dynamic", target.text))
        found.append(hit(name, target.text))
    return found


def _deleted(call: Call, target: Value, *, recursive: bool, chosen: bool) -> str:
    place = call.place(target)
    if call.is_critical(target) or place == "system":
        return "destroys-system"
    if recursive and paths.may_be_critical(target.text):
        return "dynamic-danger"
    if recursive and not chosen and _holds_history(call, target):
        return "deletes-repository"
    if re.search(r"\.(?:bash|zsh|python)_history$", target.text):
        return "hides-tracks"
    if place in ("device", "protected", "startup"):
        return "writes-device" if place == "device" else "protected-file"
    return "recursive-delete" if recursive else "deletes"


def _holds_history(call: Call, target: Value) -> bool:
    """Also a folder that the repository is in, and a pattern that may mean it."""
    repository = call.workspace.rstrip("/") + "/.git"
    history = tuple(f"{repository}{below}" for below in ("", "/objects", "/objects/*", "/refs"))
    for folder in call.state.folders:
        resolved = paths.resolve(target.text, folder or call.workspace)
        if resolved.endswith(UNKNOWN + "/.git") or paths.is_inside(repository, resolved):
            return True
        if any(paths.globs_meet(resolved, each) for each in history):
            return True
    return False


def _chosen(tests: Values) -> bool:
    """Whether `find` takes what is empty, or goes by names that are not the repository's."""
    named = [name.text for test, name in itertools.pairwise(tests) if _BY_NAME.fullmatch(test.text)]
    empty = any(test.text == "-empty" for test in tests)
    return empty or any(name.strip("*?/.") and ".git" not in name for name in named)


class Roles:
    """Each method is a role, by its name: what to say about the arguments that have it."""

    def __init__(self, call: Call, given: "Given") -> None:
        self._call = call
        self._given = given
        self._marks = given.marks

    def text(self, values: Values) -> Iterable[Outcome]:
        return ()

    pattern = filter = mode = filled = text

    # files

    def look(self, values: Values) -> Iterable[Outcome]:
        return [outcome for value in values for outcome in looks(self._call, value)]

    def read(self, values: Values) -> Iterable[Outcome]:
        return reads(self._call, values)

    def write(self, values: Values) -> Iterable[Outcome]:
        return [outcome for value in values if value.text != "-" for outcome in writes(self._call, value)]

    def secret(self, values: Values) -> Iterable[Outcome]:
        """Matters where it names secrets."""
        return reads(self._call, [value for value in values if paths.names_credentials(value.text)])

    value = pair = member = secret

    def delete(self, values: Values) -> Iterable[Outcome]:
        recursive = "recursive" in self._marks or self._call.name == "srm"
        return deletes(self._call, values, recursive=recursive) or [hit("deletes")]

    def copy(self, values: Values) -> Iterable[Outcome]:
        """Also a protected name that arrives inside a folder: `cp -r x/.git .`"""
        for source in values:
            yield from self.secret([source]) or looks(self._call, source)
            for destination in self._given.roles.get("write", []):
                self._call.state.copied(source, destination)
                inside = f"{destination.text.rstrip('/')}/{source.text.rstrip('/').rsplit('/', 1)[-1]}"
                if self._call.place(destination) == "workspace" and self._call.place(Value(inside)) == "protected":
                    yield hit("protected-file", inside)

    def move(self, values: Values) -> Iterable[Outcome]:
        yield from self.copy(values)
        for source in values:
            if self._call.is_critical(source) or self._call.place(source) == "system":
                yield hit("destroys-system", source.text)
            else:
                if _holds_history(self._call, source):
                    yield hit("deletes-repository", source.text)
                yield from writes(self._call, source)

    def link(self, values: Values) -> Iterable[Outcome]:
        yield from self.copy(values)
        for source in values:
            if self._call.place(source) not in ("workspace", "null"):
                yield hit("writes-outside", f"a link to {source.text}")

    def permit(self, values: Values) -> Iterable[Outcome]:
        mode = " ".join(value.text for value in self._given.roles.get("mode", []))
        for target in values:
            if self._call.is_critical(target) or self._call.place(target) in ("system", "device"):
                return [hit("opens-system", target.text)]
        opens = _OPENS.search(mode) or "-R" in self._given.line or not all(target.known for target in values)
        return [*([hit("opens-permissions", mode)] if opens else []), *self.write(values)]

    def dd(self, values: Values) -> Iterable[Outcome]:
        for value in values:
            key, _, target = value.text.partition("=")
            role = {"of": self.write, "if": self.read}.get(key, self.text)
            yield from role([Value(target, value.known)])

    # what runs

    def script(self, values: Values) -> Iterable[Outcome]:
        """Shell text. As an operand its words are joined; as an option's value each stands alone."""
        texts = [value.text for value in values]
        joined = [" ".join(texts)] if ("script", True) in (self._given.command.operands or ()) else texts
        return [outcome for text in joined if text not in ("", "-") for outcome in script_findings(text)]

    def helper(self, values: Values) -> Iterable[Outcome]:
        """A program that is started on the side."""
        for value in values:
            yield hit("risky-code", value.text)
            yield from script_findings(value.text.removeprefix("exec="))
            yield started(value.text.removeprefix("exec="))

    def run(self, values: Values) -> Iterable[Outcome]:
        variables: list[str] = []
        while values and (assignment := _SET.fullmatch(values[0].text)):
            yield from assigns(assignment[1], replace(values[0], text=assignment[2]))
            variables.append(assignment[1])
            values = values[1:]
        yield Inner(tuple(values), self._call.input, variables=tuple(variables))

    def arch(self, values: Values) -> Iterable[Outcome]:
        """`setarch x86_64 -R ls`: the architecture may be left out."""
        yield from self.run(values)
        behind = next((index for index, value in enumerate(values) if index and value.text[:1] != "-"), len(values))
        yield from self.run(values[behind:])

    def scheduled(self, values: Values) -> Iterable[Outcome]:
        return self._from_input(lambda text: [InnerScript(text)])

    def crontab(self, values: Values) -> Iterable[Outcome]:
        if not values and not self._call.input.given:
            return []
        if values and values[0].text not in ("-", "/dev/stdin"):
            return [hit("hidden-code", values[0].text)]
        return self._from_input(lambda text: [InnerScript(line) for line in _CRON.findall(text)])

    def sqlite(self, values: Values) -> Iterable[Outcome]:
        for text in (*self._call.texts, self._call.input.text or ""):
            for run, piped in _SQLITE.findall(text):
                yield hit("risky-code", text)
                yield from script_findings(run or piped)

    def tmux(self, values: Values) -> Iterable[Outcome]:
        """Its commands are parted by words that end with a semicolon."""
        end = next((index for index, value in enumerate(values) if value.text.endswith(";")), len(values))
        if values[end + 1 :]:
            yield Inner((Value("tmux"), *values[end + 1 :]))
        words = [*values[:end], *(Value(value.text[:-1], value.known) for value in values[end : end + 1])]
        words = [word for word in words if word.text]
        if not words or _TMUX_TELLS.fullmatch(words[0].text):
            return
        verb, told = words[0].text, list[Value]()
        for before, word in itertools.pairwise(words):
            if word.text[:1] != "-" and (told or not re.fullmatch(r"-\w*[cFnstxyeT]", before.text)):
                told.append(word)
        if verb.startswith("send"):
            typed = "".join({"Enter": "\n", "C-m": "\n", "Space": " "}.get(word.text, word.text) for word in told)
            plain = not all(_KEY.fullmatch(word.text) for word in told)
            yield from script_findings(typed) if plain else ()
            if plain and not typed.endswith("\n"):
                yield hit("hidden-code", typed)  # the rest is typed later
            return
        yield from script_findings(" ".join(word.text for word in told))
        yield from (InnerScript(word.text) for word in words[1:] if word not in told and " " in word.text)

    def remembered(self, values: Values) -> Iterable[Outcome]:
        """`hash -p PATH NAME`: from here on the name runs that program."""
        for name in self._given.roles.get("text", []):
            self._call.state.aliases[name.text] = shlex.quote(values[0].text)
        return ()

    def expanded(self, values: Values) -> Iterable[Outcome]:
        """Words that are expanded as the shell's."""
        return [outcome for value in values for outcome in script_findings(f"echo {value.text}")]

    def within(self, values: Values) -> Iterable[Outcome]:
        """`env -C`: a folder to go to before."""
        run = shlex.join(value.text for value in self._given.roles.get("run", []))
        return [InnerScript(f"cd {shlex.quote(value.text)} && {run}") for value in values if run]

    def rest(self, values: Values) -> Iterable[Outcome]:
        """`fd -x`: for each file."""
        return [Inner((*values, Value("./" + UNKNOWN)))] if "interpreter" not in self._given.roles else ()

    def code(self, values: Values) -> Iterable[Outcome]:
        return code_findings(self._call, "\n".join(value.text for value in values)) if values else ()

    def program(self, values: Values) -> Iterable[Outcome]:
        """A file with a program."""
        for value in values:
            if FROM_NETWORK in value.text:
                yield hit("remote-code")
            yield hit("hidden-code" if value.process else "runs-code", value.text)
            yield from self.read([value])

    def sed(self, values: Values) -> Iterable[Outcome]:
        return [outcome for value in values for outcome in sed_findings(value)]

    def awk(self, values: Values) -> Iterable[Outcome]:
        assigned = [value.text.partition("=")[2] for value in self._given.roles.get("value", [])]
        return [outcome for value in values for outcome in awk_findings(value, assigned)]

    def names(self, values: Values) -> Iterable[Outcome]:
        """Variables that get a value only when it runs. A guess stays, by which danger is still seen."""
        call = self._call
        origin = FROM_NETWORK if call.input.fetched else ""
        guess = (call.input.text or "").partition("\n")[0].strip()
        if call.name == "printf":
            guess = static_output(Call("printf", call.values[2:], call.input, call.state, call.workspace)) or ""
        for value in (*values, Value("REPLY"), Value("MAPFILE")):
            if value.text.startswith(UNKNOWN):
                yield hit("dynamic")
            yield from assigns(value.text, Value(UNKNOWN, known=False))
            call.state.assign(value.text, guess or UNKNOWN + origin, known=False)

    # network

    def send(self, values: Values, *, file: bool = False) -> Iterable[Outcome]:
        for value in values:
            sent = value.text.partition("=")[2] if re.match(r"[\w.-]+=[@<]", value.text) else value.text
            if file or sent.startswith(("@", "<", UNKNOWN)):
                secret = paths.names_credentials(sent.lstrip("@<").partition(";")[0])
                yield hit("sends-credentials" if secret else "uploads", sent)

    def upload(self, values: Values) -> Iterable[Outcome]:
        return self.send(values, file=True)

    def url(self, values: Values) -> Iterable[Outcome]:
        return self.read([Value(value.text[7:]) for value in values if value.text.startswith("file:")])

    def remote(self, values: Values) -> Iterable[Outcome]:
        """scp, sftp, rsync: the last operand is where things go."""
        if self._call.name == "sftp" or any(re.match(r"(?:[\w.-]+@)?[\w.-]+:|rsync://", v.text) for v in values):
            secret = any(paths.names_credentials(value.text) for value in values[:-1])
            return [hit("uploads"), *([hit("sends-credentials")] if secret else [])]
        mirrored = deletes(self._call, values[-1:], recursive=True) if "recursive" in self._marks else []
        return [*self.read(values[:-1]), *self.write(values[-1:]), *mirrored]

    def mount(self, values: Values) -> Iterable[Outcome]:
        for value in values:
            source = Value(re.sub(r".*(?:src|source)=([^,]*).*", r"\1", value.text).partition(":")[0])
            escapes = self._call.is_critical(source) or self._call.place(source) in ("system", "device")
            escapes = escapes or "docker.sock" in source.text
            yield from [hit("container-escape", source.text)] if escapes else self.secret([source])

    # git

    def object(self, values: Values) -> Iterable[Outcome]:
        """Revisions and files: `HEAD:.env`."""
        return self.read([Value(value.text.rpartition(":")[2], value.known) for value in values])

    def create(self, values: Values) -> Iterable[Outcome]:
        """A branch or tag."""
        return [hit("git-changes", self._given.whole)] if values else []

    def repository(self, values: Values) -> Iterable[Outcome]:
        """Another repository's configuration names programs that git runs."""
        return [hit("steers-shell", value.text) for value in values if self._call.place(value) != "workspace"]

    def setting(self, values: Values) -> Iterable[Outcome]:
        pairs = [(*value.text.partition("=")[::2], value.known) for value in values]
        return [outcome for key, text, known in pairs for outcome in setting(key, Value(text, known))]

    def git_config(self, values: Values) -> Iterable[Outcome]:
        values = values[1:] if values and values[0].text == "set" else values
        if len(values) < 2 or values[0].text in ("get", "list"):
            return [] if values else [hit("unknown-command", "git config")]
        return [hit("protected-file", "git config " + self._given.line), *setting(values[0].text, values[1])]

    # shells

    def shell(self, values: Values) -> Iterable[Outcome]:
        marks = self._marks
        if "inline" in marks:
            if not values:
                return [hit("not-understood")]
            found = script_findings(values[0].text, tuple(values[2:]))
            return found if values[0].known else [*found, hit("dynamic")]
        if (
            values
            and values[0].text[:1] == "/"
            and _INPUT_FILE.fullmatch(values[0].text)
            and not self._call.input.given
        ):
            return [hit("hidden-code", values[0].text)]
        if values and "stdin" not in marks and not _INPUT_FILE.fullmatch(values[0].text):
            return [_script_file(values[0])]
        positional = tuple(values) if "stdin" in marks else ()
        return self._from_input(lambda text: [InnerScript(text, positional)])

    def source(self, values: Values) -> Iterable[Outcome]:
        if values and self._call.input.given and _INPUT_FILE.fullmatch(values[0].text):
            return self._from_input(lambda text: [InnerScript(text)])
        self._call.state.doubt_all()
        return [_script_file(values[0])] if values else []

    def _from_input(self, read: Callable[[str], list[Outcome]]) -> list[Outcome]:
        """A program that comes in on standard input; `read` tells what it does."""
        given = self._call.input
        if not given.given:
            return [hit("runs-code", "interactive")]
        if given.fetched:
            return [hit("remote-code")]
        hidden = given.text is None or UNKNOWN in given.text or given.decoded or given.guessed
        return [*([hit("hidden-code")] if hidden else []), *(read(given.text) if given.text else [])]

    def evaluate(self, values: Values) -> Iterable[Outcome]:
        text = " ".join(self._call.texts)
        if FROM_NETWORK in text:
            return [hit("remote-code")]
        found: list[Outcome] = [InnerScript(text, None)]
        if not self._call.known:
            self._call.state.doubt_all()
        return found if self._call.known else [*found, hit("dynamic", text)]

    # commands for each of many

    def xargs(self, values: Values) -> Iterable[Outcome]:
        filled = self._given.roles.get("filled")
        placeholder = (filled[0].text if filled else "") or ("{}" if filled is not None else "")
        fetched = self._call.input.fetched
        text = self._call.input.text
        if text is not None and not fetched:
            words = (text.splitlines() if placeholder else text.split())[:16]
            added = [Value(word, not self._call.input.guessed) for word in words]
        else:
            added = [Value(UNKNOWN + (FROM_NETWORK if fetched else ""), known=False)]
        if not values:
            return []
        if not placeholder:
            return [Inner((*values, *added))]
        return [Inner(tuple(_filled(value, placeholder, line) for value in values)) for line in added]

    def find(self, values: Values) -> Iterable[Outcome]:
        values = [value for value in self._call.values if value.text not in ("-H", "-L", "-P")]
        count = next((index for index, value in enumerate(values) if re.match(r"[-(!)]", value.text)), len(values))
        starts, values = values[:count] or [Value(".")], values[count:]
        chosen = _chosen(values)
        yield from self.look(starts)
        while values:
            value = values.pop(0)
            option = self._given.command.options.get(value.text)
            if value.text in ("-exec", "-execdir", "-ok", "-okdir"):
                end = next((index for index, each in enumerate(values) if each.text in (";", "+")), len(values))
                yield from self._for_each(starts, values[:end])
                if values and values[0].text in _EMPTYING and not chosen:
                    held = [start for start in starts if _holds_history(self._call, start)]
                    yield from (hit("deletes-repository", start.text) for start in held)
                values = values[end:]
            elif value.text == "-delete":
                yield from deletes(self._call, starts, recursive=True, chosen=chosen)
            elif not value.known:
                yield hit("dynamic", "find")
            elif option is None and value.text.startswith("-"):
                yield hit("unknown-command", "find " + value.text)
            elif option and option.role:
                values = values[1:]

    def _for_each(self, starts: Values, command: Values) -> Iterable[Outcome]:
        call = self._call
        sought = next((value.text for value in call.values if paths.names_credentials(value.text)), UNKNOWN)
        for start in starts:
            inside = call.place(start) in ("workspace", "temporary") and start.known
            file = start if call.is_critical(start) else Value(f"{start.text}/{sought}", known=inside)
            yield Inner(tuple(_filled(value, "{}", file) for value in command))

    # the shell itself

    def alias(self, values: Values) -> Iterable[Outcome]:
        for value in values:
            if assignment := re.fullmatch(r"([^=\s]+)=(.*)", value.text, re.DOTALL):
                self._call.state.aliases[assignment[1]] = assignment[2]
                yield hit("steers-shell", value.text)
                yield from script_findings(assignment[2])

    def declare(self, values: Values) -> Iterable[Outcome]:
        """export, declare, local …: the assignments are looked at where they are parsed."""
        call = self._call
        if call.texts in (["-p"], ["-x"]) or (not call.values and call.name in ("export", "declare", "typeset")):
            yield hit("dumps-environment")
        if any(map(CONVERTING.match, call.texts)):
            call.state.converted.update(text.partition("=")[0] for text in call.texts)
        for value in call.values:
            if assignment := ASSIGNMENT.fullmatch(value.text):
                yield from assigns(assignment[1], Value(assignment[2], value.known))
                call.state.assign(assignment[1], assignment[2], known=value.known)
            elif not value.known:
                yield hit("dynamic", value.text)

    def enter(self, values: Values) -> Iterable[Outcome]:
        self._call.state.move(values[0] if values else (Value("~") if self._call.name == "cd" else None))
        return ()

    def set(self, values: Values) -> Iterable[Outcome]:
        call = self._call
        if not call.values:
            return [hit("dumps-environment")]
        if call.texts[0] == "--":
            sure = not call.state.conditional
            call.state.positional = tuple(Value(value.text, value.known and sure) for value in call.values[1:])
        elif not all(map(_SHELL_OPTION.fullmatch, call.texts)):
            return [hit("dynamic", "set " + " ".join(call.texts))]
        return ()

    def shift(self, values: Values) -> Iterable[Outcome]:
        """Of more than there are, bash drops none."""
        state, given = self._call.state, next(iter(self._call.values), Value("1"))
        if not (given.known and re.fullmatch("[0-9]{1,6}", given.text)):
            state.positional = None
        elif state.positional and int(given.text) <= len(state.positional):
            gone, left = state.positional[: int(given.text)], state.positional[int(given.text) :]
            state.positional = left if all(value.known for value in gone) else None
        return ()

    # interpreters

    def interpreter(self, values: Values) -> Iterable[Outcome]:
        """A program's file, unless it comes as a module, inline or on standard input."""
        roles = self._given.roles
        if module := roles.get("rest"):
            return self._module(module)
        if roles.get("code"):
            return ()
        if values and values[0].text not in ("-", "/dev/stdin"):
            return self.program(values)
        return self._from_input(lambda text: code_findings(self._call, text))

    def _module(self, values: Values) -> Iterable[Outcome]:
        name, arguments = values[0].text, values[1:]
        if name in _TOOL_MODULES:
            return [Inner(tuple(values))]
        if name in _READING_MODULES and len(arguments) < 2:
            return reads(self._call, arguments)
        return [hit("runs-code", "module " + name)]


def _script_file(file: Value) -> Finding:
    if FROM_NETWORK in file.text:
        return hit("remote-code")
    opened = file.process or (file.text[:1] == "/" and _INPUT_FILE.fullmatch(file.text))
    return hit("hidden-code" if opened else "runs-code", file.text)


def _filled(value: Value, placeholder: str, line: Value) -> Value:
    return Value(value.text.replace(placeholder, line.text), line.known) if placeholder in value.text else value
