"""Options that change what a command runs; `steering.toml` names them."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

_FILE = Path(__file__).with_name("steering.toml")
_SETS = re.compile(r"[A-Za-z_][\w.-]*\s*[:+?]*=(?!\d*$)", re.DOTALL)
"""A number starts nothing: `make V=1`."""
_SHORTEST = 4
"""Of an abbreviated option, dashes included."""


class _Told(Struct, frozen=True, forbid_unknown_fields=True):
    anywhere: dict[str, str]
    leading: dict[str, str]
    variables: dict[str, str]


@cache
def _told() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]], frozenset[str]]:
    told = msgspec.convert(tomllib.loads(_FILE.read_text()), _Told)
    return _by_name(told.anywhere), _by_name(told.leading), frozenset(told.variables["names"].split())


def _by_name(given: dict[str, str]) -> dict[str, frozenset[str]]:
    return {name.strip(): frozenset(options.split()) for names, options in given.items() for name in names.split(",")}


def steering_option(name: str, words: Sequence[str]) -> str:
    """The first of a command's words that changes what it runs; empty: none does."""
    anywhere, leading, setting = _told()
    for word in words:
        if word == "--":
            break
        if word[:1] != "-":
            if name in setting and _SETS.match(word):
                return word
        elif _steers(word, anywhere.get(name, ())) or _steers(word, leading.get(name, ())):
            return word
        if name in leading and word[:1] != "-":
            break
    return ""


def _steers(word: str, options: Sequence[str] | frozenset[str]) -> bool:
    option = word.partition("=")[0]
    if not options:
        return False
    if option in options:
        return True
    if option.startswith("--"):
        return len(option) >= _SHORTEST and any(each.startswith(option) for each in options)
    letters = re.match(r"-[A-Za-z]*", word)
    return bool(letters) and any("-" + letter in options for letter in letters[0][1:])
