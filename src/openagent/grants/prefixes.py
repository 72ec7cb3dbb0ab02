"""The first words of a command by which a person can allow it; `prefixes.toml` lists them."""

import re
import tomllib
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("prefixes.toml")
_WORD = re.compile(r"[A-Za-z0-9][\w.:@+/-]*")
"""What a subcommand or a script's name looks like: no option, no glob, nothing unknown."""
_PROGRAM = re.compile(r"[A-Za-z0-9][\w.+-]*")
"""Found on the PATH: a program that is named by where it lies may be any."""


@cache
def _following() -> dict[tuple[str, ...], list[str]]:
    """Which words have to follow, by those before them."""
    told = tomllib.loads(_FILE.read_text())
    return {tuple(key.split()): words.split() for keys, words in told.items() for key in keys.split(",")}


def is_program(word: str) -> bool:
    return bool(_PROGRAM.fullmatch(word))


def prefix_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words that say what a command does; empty where none do surely."""
    for count in (2, 1):
        following = _following().get(argv[:count])
        if following == []:
            return argv[:count]
        if following is not None and len(argv) > count:
            says = _WORD.fullmatch(argv[count]) and (following == ["*"] or argv[count] in following)
            return argv[: count + 1] if says else ()
    return ()
