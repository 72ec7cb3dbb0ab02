"""One command as the built-in rules see it, and what they may answer."""

from collections.abc import Iterable

from msgspec import Struct

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.paths import Place
from openagent.policy.shell.values import FROM_NETWORK, UNKNOWN, State, Value


class Flow(Struct, frozen=True):
    """What a command reads from its standard input, or prints."""

    text: str | None = None
    """When it is known."""
    producers: tuple[str, ...] = ()
    """The names of the commands it comes from."""
    given: bool = False
    sensitive: bool = False
    """It holds keys, tokens or the environment."""


class Call(Struct, frozen=True):
    name: str
    """Without its folder."""
    values: tuple[Value, ...]
    """The arguments."""
    input: Flow
    state: State
    workspace: str

    @property
    def texts(self) -> list[str]:
        return [value.text for value in self.values]

    @property
    def known(self) -> bool:
        return all(value.known for value in self.values)

    def place(self, value: Value) -> Place:
        if value.scripts:
            return "null"
        places: list[Place] = [paths.locate(value.text, folder, self.workspace) for folder in self.state.folders]
        return places[0] if len(places) == 1 else paths.SEVERITY[max(map(paths.SEVERITY.index, places))]

    def is_critical(self, value: Value) -> bool:
        return any(paths.is_critical(value.text, folder, self.workspace) for folder in self.state.folders)


class Inner(Struct, frozen=True):
    """A command that the command starts."""

    values: tuple[Value, ...]
    input: Flow = Flow()
    speculative: bool = False
    """It may be no command at all: only what is never allowed counts."""


class InnerScript(Struct, frozen=True):
    """Shell text that the command runs."""

    text: str
    positional: tuple[Value, ...] | None = ()
    """None: those of the shell it runs in."""
    speculative: bool = False
    same_shell: bool = False
    """Where it moves to, the commands after it are too."""


Outcome = Finding | Inner | InnerScript


def writes(call: Call, target: Value) -> list[Outcome]:
    """What to say about a file that is written."""
    place = call.place(target)
    text = target.text
    if place == "null":
        return []
    if place in ("device", "system"):
        return [Finding(catalogue.WRITES_DEVICE if place == "device" else catalogue.WRITES_SYSTEM, text)]
    if place in ("protected", "startup") or (place == "workspace" and paths.looks_secret(text)):
        return [Finding(catalogue.PROTECTED_FILE, text)]
    if place == "workspace":
        unsure = UNKNOWN in text and not target.known
        return [Finding(catalogue.WRITES_WORKSPACE, text), *([Finding(catalogue.DYNAMIC, text)] if unsure else [])]
    if place == "temporary" or (place == "home" and text.startswith("~")):
        return [Finding(catalogue.WRITES_SCRATCH, text)]
    return [Finding(catalogue.WRITES_OUTSIDE, text)]


def reads(call: Call, targets: Iterable[Value]) -> list[Outcome]:
    """What to say about files that are read and shown."""
    found: list[Outcome] = []
    for target in targets:
        if paths.names_credentials(target.text, call.state.cwd):
            found.append(Finding(catalogue.READS_CREDENTIALS, target.text))
        elif not target.known:
            found.append(Finding(catalogue.READS_UNKNOWN, target.text))
        else:
            found.extend(looks(call, target))
    return found


def looks(call: Call, target: Value) -> list[Outcome]:
    """What to say about a path that is looked at."""
    place = call.place(target) if target.text and target.text != "-" else "null"
    outside = place == "outside" or (place == "home" and target.text[:1] != "~")
    return [Finding(catalogue.READS_OUTSIDE, target.text)] if outside else []


def script_findings(text: str, positional: tuple[Value, ...] = ()) -> list[Outcome]:
    """Shell text that is run; where it holds unknown pieces, what could be known of it is looked at as well."""
    if FROM_NETWORK in text:
        return [Finding(catalogue.REMOTE_CODE)]
    found: list[Outcome] = [InnerScript(text, positional)]
    if UNKNOWN in text:
        found.append(Finding(catalogue.DYNAMIC, text))
    return found
