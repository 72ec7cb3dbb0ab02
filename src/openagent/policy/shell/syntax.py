"""The syntax tree of a shell command, as far as policy needs it."""

import os.path
from collections.abc import Iterable, Iterator
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


def command_names(script: Script) -> Iterator[str]:
    for pipeline in script:
        for stage in pipeline.stages:
            if isinstance(stage, Simple) and stage.words:
                yield os.path.basename("".join(part.text if part.kind == "text" else "\0" for part in stage.words[0]))
            elif isinstance(stage, Compound):
                for block in stage.blocks:
                    yield from command_names(block)


def calls_itself_twice(function: Function) -> bool:
    """`f() { f | f & }`: it starts more of itself than it ends."""
    if not isinstance(function.body, Compound):
        return False
    for block in function.body.blocks:
        for pipeline in block:
            names = [name for name in command_names((pipeline,)) if name == function.name]
            if len(names) > 1 or (names and pipeline.background):
                return True
    return False


def assigned_names(blocks: Iterable[Script]) -> Iterator[str]:
    for block in blocks:
        for pipeline in block:
            for stage in pipeline.stages:
                if isinstance(stage, Simple):
                    yield from (assignment.name for assignment in stage.assignments)
                elif isinstance(stage, Compound):
                    yield from assigned_names(stage.blocks)
                    if stage.variable:
                        yield stage.variable
