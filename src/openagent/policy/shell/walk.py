"""What can be told from the syntax alone."""

import os.path
from collections.abc import Iterable, Iterator

from openagent.policy.shell.syntax import Compound, Function, Script, Simple


def command_names(script: Script) -> Iterator[str]:
    for pipeline in script:
        for stage in pipeline.stages:
            if isinstance(stage, Simple) and stage.words:
                yield os.path.basename("".join(getattr(part, "text", "\0") for part in stage.words[0].parts))
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
