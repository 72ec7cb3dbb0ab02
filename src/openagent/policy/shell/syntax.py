"""The syntax tree of a shell command, as far as policy needs it."""

from typing import Literal

from msgspec import Struct


class Text(Struct, frozen=True):
    text: str
    quoted: bool = False


class Variable(Struct, frozen=True):
    """`$name` or `${name<operator><argument>}`."""

    name: str
    operator: str = ""
    argument: "tuple[Part, ...]" = ()
    quoted: bool = False


class Substitution(Struct, frozen=True):
    """`$(…)` or backticks."""

    script: "Script"
    quoted: bool = False


class ProcessSubstitution(Struct, frozen=True):
    """`<(…)` or `>(…)`."""

    script: "Script"


class Arithmetic(Struct, frozen=True):
    parts: "tuple[Part, ...]"


Part = Text | Variable | Substitution | ProcessSubstitution | Arithmetic


class Word(Struct, frozen=True):
    parts: tuple[Part, ...]


class Assignment(Struct, frozen=True):
    name: str
    value: Word | None
    """None for an array."""
    append: bool = False
    elements: tuple[Word, ...] = ()


class Redirect(Struct):
    operator: str
    target: Word
    """For a here-document its body, which is read only after the line it stands on: hence not frozen."""
    descriptor: str = ""


class Simple(Struct, frozen=True):
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Compound(Struct, frozen=True):
    kind: Literal["group", "subshell", "if", "loop", "for", "case", "arithmetic", "test"]
    blocks: "tuple[Script, ...]" = ()
    words: tuple[Word, ...] = ()
    """What a `for` runs over, a `case` looks at and compares with, or `[[ ]]` tests."""
    variable: str = ""
    redirects: tuple[Redirect, ...] = ()


class Function(Struct, frozen=True):
    name: str
    body: "Command"


Command = Simple | Compound | Function


class Pipeline(Struct, frozen=True):
    stages: tuple[Command, ...]
    conditional: bool = False
    """It follows `&&` or `||`."""
    background: bool = False


Script = tuple[Pipeline, ...]
