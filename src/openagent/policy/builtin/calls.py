"""One command as the built-in rules see it, and what they may answer."""

import os.path
from collections.abc import Callable, Iterable

from msgspec import Struct

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.paths import Place
from openagent.policy.shell.values import State, Value


class Input(Struct, frozen=True):
    """What a command reads from its standard input."""

    text: str | None = None
    """When it is known."""
    producers: tuple[str, ...] = ()
    """The names of the commands it comes from."""
    given: bool = False
    sensitive: bool = False
    """It holds keys, tokens or the environment."""
    workspace_files: bool = False
    """Each line names a file inside the workspace."""


class Call(Struct, frozen=True):
    name: str
    """Without its folder."""
    values: tuple[Value, ...]
    """The arguments."""
    input: Input
    state: State
    workspace: str

    @property
    def texts(self) -> list[str]:
        return [value.text for value in self.values]

    @property
    def known(self) -> bool:
        return all(value.known for value in self.values)

    def operands(self, with_value: str | frozenset[str] = "") -> list[Value]:
        """The arguments that are not options. `with_value`: options that take the next argument."""
        taking = with_value.split() if isinstance(with_value, str) else with_value
        found: list[Value] = []
        values = iter(self.values)
        for value in values:
            if value.text == "--":
                found.extend(values)
            elif value.text in taking:
                next(values, None)
            elif not value.text.startswith("-") or value.text == "-":
                found.append(value)
        return found

    def option(self, short: str, *long: str) -> str | None:
        """The value of an option; "" when it has none; None when it is not given.
        `short`: its letters, each also found inside a cluster such as `-rf`."""
        texts = self.texts
        for index, text in enumerate(texts):
            if text == "--":
                break
            if text.startswith("--"):
                name, _, value = text[2:].partition("=")
                if name and any(full == name or (len(name) > 2 and full.startswith(name)) for full in long):
                    return value or (texts[index + 1] if index + 1 < len(texts) else "")
            elif text.startswith("-"):
                for position, letter in enumerate(text[1:], 1):
                    if letter in short:
                        return text[position + 1 :] or (texts[index + 1] if index + 1 < len(texts) else "")
        return None

    def has(self, short: str, *long: str) -> bool:
        return self.option(short, *long) is not None

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
    input: Input = Input()
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
Handler = Callable[[Call], Iterable[Outcome]]


def writes(call: Call, target: Value) -> list[Outcome]:
    """What to say about a file that is written."""
    place = call.place(target)
    text = target.text
    if place == "null":
        return []
    if place == "device":
        return [Finding(catalogue.WRITES_DEVICE, text)]
    if place == "system":
        return [Finding(catalogue.WRITES_SYSTEM, text)]
    if place in ("protected", "startup"):
        return [Finding(catalogue.PROTECTED_FILE, text)]
    if place == "workspace":
        return [Finding(catalogue.PROTECTED_FILE if paths.looks_secret(text) else catalogue.WRITES_WORKSPACE, text)]
    own = place == "temporary" or (place == "home" and text.startswith("~"))
    return [Finding(catalogue.WRITES_SCRATCH if own else catalogue.WRITES_OUTSIDE, text)]


def reads(call: Call, targets: Iterable[Value]) -> list[Outcome]:
    """What to say about files that are read and shown."""
    found: list[Outcome] = []
    for target in targets:
        if paths.names_credentials(target.text, call.state.cwd):
            found.append(Finding(catalogue.READS_CREDENTIALS, target.text))
        elif not target.known:
            found.append(Finding(catalogue.READS_UNKNOWN, target.text))
        elif call.place(target) == "outside" or (call.place(target) == "home" and target.text[:1] != "~"):
            found.append(Finding(catalogue.READS_OUTSIDE, target.text))
    return found


def base_name(text: str) -> str:
    return os.path.basename(text)
