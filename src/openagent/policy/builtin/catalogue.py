"""The built-in rules, described in `rules.toml`: how strict, how risky, what they are about and why."""

import tomllib
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from openagent.policy import paths
from openagent.protocol.sessions import Risk

_FILE = Path(__file__).with_name("rules.toml")


class Level(IntEnum):
    SAFE = 0
    ASK = 1
    """Asks, except in full mode."""
    FIRM = 2
    """Asks in every mode."""
    DENY = 3


Kind = Literal["read", "write", "unknown", "leave", "never"]
"""What a command is believed to do, mildest first. `write`: to the workspace or the jail's own folders, and nothing
else. `leave`: it asks for something beyond the jail."""
KINDS: tuple[Kind, ...] = ("read", "write", "unknown", "leave", "never")
Way = Literal["network", "engine", "publish", "credentials", "outside", "privilege"]
"""How something leaves the jail. `engine`: through a container engine; `outside`: by a path."""


class BuiltinRule(Struct, frozen=True, forbid_unknown_fields=True):
    risk: Risk
    reason: str
    kind: Kind = msgspec.field(name="is")
    match: list[str]
    not_match: list[str]
    leaves: Way | None = None
    level: Level = Level.SAFE
    name: str = ""


class Finding(Struct, frozen=True):
    """A rule that a command meets."""

    rule: BuiltinRule
    detail: str = ""
    """What in the command met it."""


@cache
def rules() -> dict[str, BuiltinRule]:
    """By name. Read when the first is needed: it is no part of a daemon's start."""
    sections = msgspec.convert(tomllib.loads(_FILE.read_text()), dict[str, dict[str, BuiltinRule]])
    return {
        name: msgspec.structs.replace(rule, level=Level[section.upper()], name=name)
        for section, described in sections.items()
        for name, rule in described.items()
    }


def hit(name: str, detail: str = "") -> Finding:
    return Finding(rules()[name], detail)


def write_rule(place: paths.Place, path: str) -> str:
    """What a file meets that is written there."""
    match place:
        case "device" | "system":
            return f"writes-{place}"
        case "protected" | "startup":
            return "protected-file"
        case "workspace":
            return "protected-file" if paths.looks_secret(path) else "writes-workspace"
        case _:
            return "writes-outside"
