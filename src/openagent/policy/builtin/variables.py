"""Variables and settings that decide which programs start."""

import re
import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import InnerScript, Outcome
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.shell.values import Value

_FILE = Path(__file__).with_name("variables.toml")
_PROGRAM = re.compile(r"COMMAND$|PAGER$|EDITOR$|SSH$|DIFF$|ASKPASS$|ENV$")
_HARMLESS_SETTINGS = re.compile(
    r"color\.|user\.(?:name|email)$|core\.(?:quotepath|autocrlf|abbrev|commentchar|ignorecase|filemode|eol|safecrlf)$"
    r"|diff\.(?:algorithm|renames|noprefix|mnemonicprefix|colormoved|context|submodule|wserrorhighlight)$|advice\.|log\."
    r"|commit\.(?:gpgsign|verbose|cleanup)$|tag\.(?:gpgsign|sort)$|gc\.auto$|safe\.directory$|http\.version$|i18n\."
    r"|merge\.conflictstyle$|pull\.(?:rebase|ff)$|push\.(?:default|autosetupremote)$|column\.|status\.|format\.pretty$"
    r"|versionsort\.|branch\.sort$|init\.defaultbranch$|rebase\.auto",
    re.IGNORECASE,
)


class _Variables(Struct, frozen=True, forbid_unknown_fields=True):
    steering: str
    harmless: str
    harmless_values: list[str]


@cache
def _variables() -> tuple[frozenset[str], tuple[str, ...], frozenset[str]]:
    """Names that steer, beginnings of such names, and what is harmless all the same."""
    told = msgspec.convert(tomllib.loads(_FILE.read_text()), _Variables)
    steering = told.steering.split()
    beginnings = tuple(name[:-1] for name in steering if name.endswith("*"))
    return frozenset(steering), beginnings, frozenset((*told.harmless.split(), *told.harmless_values))


def assigns(name: str, value: Value) -> list[Outcome]:
    """What to say about a variable that is set for a command or for good."""
    names, beginnings, harmless = _variables()
    if name.startswith("HIST"):
        return [Finding(catalogue.HIDES_TRACKS, name)]
    if name not in names and not name.startswith(beginnings):
        return []
    if name in harmless or (value.known and f"{name}={value.text}" in harmless):
        return []
    found: list[Outcome] = [Finding(catalogue.STEERS_SHELL, name)]
    if value.known and (" " in value.text or _PROGRAM.search(name)):
        found.append(InnerScript(value.text))
    return found


def setting(key: str, value: Value) -> list[Outcome]:
    """What to say about a setting of git's."""
    if value.known and _HARMLESS_SETTINGS.match(key):
        return []
    if key.lower().endswith("pager") and value.text in ("cat", "less", ""):
        return []
    text = value.text.removeprefix("!")
    if key.lower().startswith("alias.") and not value.text.startswith("!"):
        text = "git " + text
    found: list[Outcome] = [Finding(catalogue.STEERS_SHELL, key)]
    return [*found, InnerScript(text)] if text else found
