"""What an op is about: which folders, sessions and the like its fields name.

A token that works below some folders may name only what belongs to them. So every op names something, or its class says
what it is about otherwise (`reach`).
"""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import UNSET

from openagent.protocol.op import Named, Op

Otherwise = Literal["open", "filtered", "whole"]
"""What an op is about that names nothing: nobody's folder; all of which only a part is told; the whole daemon."""

_BY_NAME: dict[str, Named] = {
    "session": "session",
    "parent": "session",
    "cwd": "folder",
    "folder": "folder",
    "archive": "folder",
    "to": "folder",
    "copy": "copy",
    "terminal": "terminal",
    "task": "task",
    "grant": "grant",
}


def kind_of(op: type[Op], field: str) -> Named | None:
    return op.names.get(field, _BY_NAME.get(field))


def is_whole(op: type[Op]) -> bool:
    """About the whole daemon, whatever it names."""
    return op.reach == "whole"


def otherwise(op: type[Op]) -> Otherwise:
    match op.reach:
        case "open" | "filtered" as said:
            return said
        case _:
            return "whole"


def is_said(op: type[Op]) -> bool:
    """Its class says what it is about, or it cannot be sent without naming something."""
    required = (field.name for field in msgspec.structs.fields(op) if field.required)
    return op.reach != "named" or any(kind_of(op, name) for name in required)


def named(op: Op) -> Iterator[tuple[Named, str]]:
    """What it names, as far as it does."""
    for field in msgspec.structs.fields(type(op)):
        kind = kind_of(type(op), field.name)
        value = getattr(op, field.name)
        if kind is not None and value is not UNSET and value:
            yield kind, str(value)
