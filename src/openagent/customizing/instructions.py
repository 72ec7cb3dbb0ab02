"""Copilot's `.github/instructions/*.instructions.md`: rules for the files that `applyTo` names."""

import os
import re
from pathlib import Path

from msgspec import Struct

from openagent.customizing.files import read_text
from openagent.customizing.folders import files_below
from openagent.filesystem.patterns import Glob
from openagent.plugins.front_matter import FrontMatter, parse_front_matter
from openagent.protocol.errors import OpenAgentError

ENDING = ".instructions.md"
_FOLDER = Path(".github", "instructions")
_LONGEST_HEADER = 64 * 1024
_EVERYTHING = frozenset(("**", "**/*", "*", "**/**"))
_BETWEEN_GLOBS = re.compile(r",(?![^{}]*\})")


class Instructions(Struct, frozen=True):
    path: Path
    base: Path
    """What its globs are relative to."""
    globs: tuple[str, ...] = ()
    problem: str = ""

    @property
    def always(self) -> bool:
        return any(glob in _EVERYTHING for glob in self.globs)

    def concerns(self, file: Path) -> bool:
        inside = os.path.relpath(os.path.normpath(file), self.base)
        return not inside.startswith("..") and any(Glob(glob).matches(inside) for glob in self.globs)


def instructions_in(folder: Path) -> list[Instructions]:
    return [_read(file, folder) for file in files_below(folder / _FOLDER, (ENDING,))]


def body_of(path: Path, text: str) -> str:
    """Without what is said to programs."""
    if not path.name.endswith(ENDING):
        return text
    try:
        return parse_front_matter(text, str(path)).body
    except OpenAgentError:
        return text


def _read(file: Path, folder: Path) -> Instructions:
    try:
        header = parse_front_matter(read_text(file, within=folder, limit=_LONGEST_HEADER).text, str(file))
    except OpenAgentError as problem:
        return Instructions(file, folder, problem=problem.info.message)
    globs = _globs(header)
    return Instructions(file, folder, globs, "" if globs else f"{file}: without `applyTo` it is told to nobody.")


def _globs(header: FrontMatter) -> tuple[str, ...]:
    """One line with commas, those inside braces apart, or a list."""
    entry = header.entries.get("applyTo")
    given = [] if entry is None else [entry.value] if isinstance(entry.value, str) else entry.value
    parts = [part.strip().strip("\"'") for each in given for part in _BETWEEN_GLOBS.split(str(each))]
    return tuple(part for part in parts if part)
