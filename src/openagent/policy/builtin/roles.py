"""What the arguments of a described command are, role by role: a file read, one written, a script, a program …"""

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from openagent.policy import paths
from openagent.policy.builtin.calls import Call, Inner, InnerScript, Outcome, looks, reads, script_findings, writes
from openagent.policy.builtin.catalogue import hit
from openagent.policy.builtin.output import static_output
from openagent.policy.builtin.programs import awk_findings, code_findings, sed_findings
from openagent.policy.builtin.variables import assigns, setting
from openagent.policy.shell.values import FROM_NETWORK, UNKNOWN, Value

if TYPE_CHECKING:
    from openagent.policy.builtin.describing import Given

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPENS = re.compile(r"^[0-7]*[2367]$|^[2467][0-7]{3}$|[oa]?\+[rwxX]*w|o[=+]\S*w|\+s|=\S*s|\+t")
Values = list[Value]


def deletes(call: Call, targets: Iterable[Value], *, recursive: bool) -> list[Outcome]:
    found: list[Outcome] = []
    for target in targets:
        name = _deleted(call, target, recursive=recursive)
        if name in ("deletes", "recursive-delete"):
            if looks(call, target):
                found.append(hit("writes-outside", target.text))
            elif not target.known:
                found.append(hit("dynamic", target.text))
        found.append(hit(name, target.text))
    return found


def _deleted(call: Call, target: Value, *, recursive: bool) -> str:
    place = call.place(target)
    if call.is_critical(target) or place == "system":
        return "destroys-system"
    if recursive and paths.may_be_critical(target.text):
        return "dynamic-danger"
    if recursive and _holds_history(call, target):
        return "deletes-repository"
    if re.search(r"\.(?:bash|zsh|python)_history$", target.text):
        return "hides-tracks"
    if place in ("device", "protected", "startup"):
        return "writes-device" if place == "device" else "protected-file"
    return "recursive-delete" if recursive else "deletes"


def _holds_history(call: Call, target: Value) -> bool:
    repository = call.workspace.rstrip("/") + "/.git"
    history = (repository, f"{repository}/*", f"{repository}/objects", f"{repository}/refs")
    return any(paths.resolve(target.text, folder or call.workspace) in history for folder in call.state.folders)


class Roles:
    """Each method is a role, by its name: what to say about the arguments that have it."""

    def __init__(self, call: Call, given: "Given") -> None:
        self._call = call
        self._given = given
        self._marks = given.marks

    def text(self, values: Values) -> Iterable[Outcome]:
        return ()

    pattern = filter = mode = folder = command = filled = text

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

    def edit(self, values: Values) -> Iterable[Outcome]:
        """Files of sed: written with -i, read without."""
        return self.write(values) if "inplace" in self._marks else self.read(values)

    def format(self, values: Values) -> Iterable[Outcome]:
        """Rewritten, unless they are only checked."""
        return () if "harmless" in self._marks else self.write(values or [Value(".")])

    def delete(self, values: Values) -> Iterable[Outcome]:
        recursive = "recursive" in self._marks or self._call.name == "srm"
        return deletes(self._call, values, recursive=recursive) or [hit("deletes")]

    def copy(self, values: Values) -> Iterable[Outcome]:
        """Also a protected name that arrives inside a folder: `cp -r x/.git .`"""
        for source in values:
            yield from self.secret([source]) or looks(self._call, source)
            for destination in self._given.roles.get("write", []):
                inside = f"{destination.text.rstrip('/')}/{source.text.rstrip('/').rsplit('/', 1)[-1]}"
                if self._call.place(destination) == "workspace" and self._call.place(Value(inside)) == "protected":
                    yield hit("protected-file", inside)

    def move(self, values: Values) -> Iterable[Outcome]:
        yield from self.copy(values)
        for source in values:
            if self._call.is_critical(source) or self._call.place(source) == "system":
                yield hit("destroys-system", source.text)
            else:
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

    def archive(self, values: Values) -> Iterable[Outcome]:
        """Written by `tar c`, read otherwise."""
        return self.write(values) if self._packs() else self.read([value for value in values if value.known])

    def into(self, values: Values) -> Iterable[Outcome]:
        return self.look(values) if self._packs() else self.write(values)

    def _packs(self) -> bool:
        rest = self._given.rest
        return "c" in (rest[0].text if rest else "") or "--create" in self._given.line

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

    def run(self, values: Values) -> Iterable[Outcome]:
        while values and (assignment := ASSIGNMENT.fullmatch(values[0].text)):
            yield from assigns(assignment[1], Value(assignment[2], values[0].known))
            values = values[1:]
        yield Inner(tuple(values), self._call.input)

    def within(self, values: Values) -> Iterable[Outcome]:
        """`env -C`: a folder to go to before."""
        run = shlex.join(value.text for value in self._given.roles.get("run", []))
        return [InnerScript(f"cd {shlex.quote(value.text)} && {run}") for value in values if run]

    def rest(self, values: Values) -> Iterable[Outcome]:
        """`fd -x`: for each file."""
        return [Inner((*values, Value("./" + UNKNOWN)))] if self._given.command.told.handler != "interpreter" else ()

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
        """A branch or tag, unless they are listed."""
        return [hit("git-changes", self._given.whole)] if values and "listing" not in self._marks else []

    def repository(self, values: Values) -> Iterable[Outcome]:
        """Another repository's configuration names programs that git runs."""
        return [hit("steers-shell", value.text) for value in values if self._call.place(value) != "workspace"]

    def setting(self, values: Values) -> Iterable[Outcome]:
        pairs = [(*value.text.partition("=")[::2], value.known) for value in values]
        return [outcome for key, text, known in pairs for outcome in setting(key, Value(text, known))]
