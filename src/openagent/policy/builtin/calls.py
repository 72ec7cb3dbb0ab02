"""One command as the built-in rules see it, what they may answer, and what to say about the files it names."""

from collections.abc import Iterable

from msgspec import Struct

from openagent.bash import UNKNOWN
from openagent.bash.values import FROM_NETWORK, State, Value
from openagent.policy import paths
from openagent.policy.builtin.catalogue import Finding, hit, write_rule
from openagent.policy.paths import Place


class Flow(Struct, frozen=True):
    """What a command reads from its standard input, or prints."""

    text: str | None = None
    """When it is known."""
    given: bool = False
    sensitive: bool = False
    """It holds keys, tokens or the environment."""
    fetched: bool = False
    """It comes off the network."""
    decoded: bool = False
    """It is not what it was written as."""
    guessed: bool = False
    """The text is what it most likely is."""


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
        if value.process:
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
    variables: tuple[str, ...] = ()
    """Set for it alone."""


class InnerScript(Struct, frozen=True):
    """Shell text that the command runs."""

    text: str
    positional: tuple[Value, ...] | None = ()
    """None: it runs in this very shell, and where it moves to, the commands after it are too."""
    speculative: bool = False


Outcome = Finding | Inner | InnerScript


def writes(call: Call, target: Value) -> list[Outcome]:
    """What to say about a file that is written."""
    place, text = call.place(target), target.text
    if place == "null":
        return []
    if place == "temporary" or (place == "home" and text.startswith("~")):
        return [hit("writes-scratch", text)]
    written = hit(write_rule(place, text), text)
    unsure = written.rule.name == "writes-workspace" and UNKNOWN in text and not target.known
    return [written, hit("dynamic", text)] if unsure else [written]


def reads(call: Call, targets: Iterable[Value]) -> list[Outcome]:
    """What to say about files that are read and shown."""
    found: list[Outcome] = []
    for target in targets:
        if paths.names_credentials(target.text, call.state.cwd):
            found.append(hit("reads-credentials", target.text))
        elif not target.known:
            found.append(hit("reads-unknown", target.text))
        else:
            found.extend(looks(call, target))
    return found


def looks(call: Call, target: Value) -> list[Outcome]:
    """What to say about a path that is looked at."""
    place = call.place(target) if target.text and target.text != "-" else "null"
    outside = place == "outside" or (place == "home" and target.text[:1] != "~")
    return [hit("reads-outside", target.text)] if outside else []


def started(program: str) -> InnerScript:
    """It gets words of its own, which nobody knows."""
    return InnerScript(f'{program} "$@"', (Value("./" + UNKNOWN, known=False),))


def script_findings(text: str, positional: tuple[Value, ...] = ()) -> list[Outcome]:
    """Shell text that is run; where it holds unknown pieces, what could be known of it is looked at as well."""
    if FROM_NETWORK in text:
        return [hit("remote-code")]
    found: list[Outcome] = [InnerScript(text, positional)]
    return [*found, hit("dynamic", text)] if UNKNOWN in text else found
