"""The syntax tree of a shell command, as far as policy needs it."""

import itertools
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct


class Part(Struct, frozen=True):
    """A piece of a word: text, `$name`, `$(…)`, `<(…)` or `$((…))`."""

    kind: Literal["text", "variable", "command", "process", "arithmetic"]
    text: str = ""
    """The text, or the variable's name."""
    quoted: bool = False
    operator: str = ""
    parts: "Word" = ()
    """Of `${name<operator><parts>}`, or of the arithmetic."""
    script: "Script" = ()


Word = tuple[Part, ...]


def plain(text: str, *, quoted: bool = False) -> Part:
    return Part("text", text, quoted)


class Assignment(Struct, frozen=True):
    name: str
    value: Word | None
    """None for an array."""
    append: bool = False
    elements: tuple[Word, ...] = ()


class Redirect(Struct, frozen=True):
    operator: str
    target: Word
    """For a here-document its body."""
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


def stages_of(script: Script) -> Iterator[Command]:
    """All commands, at any depth; not those of substitutions."""
    for pipeline in script:
        for stage in pipeline.stages:
            yield stage
            for block in stage.blocks if isinstance(stage, Compound) else ():
                yield from stages_of(block)


def calls_itself_twice(function: Function) -> bool:
    """`f() { f | f & }`: it starts more of itself than it ends."""
    for pipeline in itertools.chain(*function.body.blocks) if isinstance(function.body, Compound) else ():
        simple = [stage for stage in stages_of((pipeline,)) if isinstance(stage, Simple) and stage.words]
        calls = sum("".join(part.text for part in stage.words[0]) == function.name for stage in simple)
        if calls > 1 or (calls and pipeline.background):
            return True
    return False


def assigned_names(script: Script) -> Iterator[str]:
    for stage in stages_of(script):
        if isinstance(stage, Simple):
            yield from (assignment.name for assignment in stage.assignments)
        elif isinstance(stage, Compound) and stage.variable:
            yield stage.variable
