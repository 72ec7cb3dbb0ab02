"""What an op's fields may hold beyond their type, by the field's name: said once, for every op that has one of that
name. The daemon refuses the rest, and the HTTP API's document tells of it."""

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from msgspec import Meta, Struct

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op

LONGEST_PATH = 4095
"""What Linux takes, in bytes."""
LONGEST_NAME = 255
"""Of one folder or file in a path, in bytes."""
_PATHS = frozenset(("archive", "cwd", "file", "folder", "path", "paths", "root", "to"))
_COUNTS: Mapping[str, Meta] = {
    "limit": Meta(ge=1),
    "days": Meta(ge=1, le=3660),
}
_LARGEST = 1e15
"""No time, amount or position is larger, and above it calendars end and sums are no longer exact."""

_CHECKED_BY_THEMSELVES = frozenset(("settings", "template"))
"""Refused where settings are, each with what it may be."""


def bounded(name: str, kind: Any) -> Any:
    """The type of a field of that name."""
    if name in _COUNTS and kind is int:
        return Annotated[int, _COUNTS[name]]
    if name in _PATHS and kind is str:
        return Annotated[str, Meta(max_length=LONGEST_PATH)]
    return kind


def check(op: Op) -> None:
    """Raises for what no handler should have to expect."""
    for problem in _problems(op):
        raise OpenAgentError("invalid_argument", problem)


def _problems(value: Struct) -> Iterator[str]:
    for name in value.__struct_fields__:
        yield from _problems_of(name, getattr(value, name))


def _problems_of(name: str, value: Any) -> Iterator[str]:
    match value:
        case bool() | None:
            return
        case int() if name in _COUNTS and not _fits(value, _COUNTS[name]):
            most = _COUNTS[name].le
            yield f"`{name}` must be 1 or more{f', and at most {most}' if most else ''}, not {value}."
        case int() | float() if not math.isfinite(value) or abs(value) > _LARGEST:
            yield f"`{name}` is too large: {value:g}."
        case str() if name in _PATHS:
            yield from _problems_of_path(name, value)
        case list() if name in _PATHS:
            for each in cast("list[str]", value):
                yield from _problems_of_path(name, each)
        case Struct() if name not in _CHECKED_BY_THEMSELVES:
            yield from _problems(value)
        case _:
            return


def _fits(value: int, meta: Meta) -> bool:
    return (meta.ge is None or value >= meta.ge) and (meta.le is None or value <= meta.le)


def _problems_of_path(name: str, path: str) -> Iterator[str]:
    if "\0" in path:
        yield f"`{name}` holds a NUL, which no path can."
    elif len(path) > LONGEST_NAME:
        encoded = path.encode(errors="replace")
        if len(encoded) > LONGEST_PATH:
            yield f"`{name}` is longer than any path: {len(encoded)} bytes, of at most {LONGEST_PATH}."
        elif any(len(part) > LONGEST_NAME for part in encoded.split(b"/")):
            yield f"`{name}` holds a name of more than {LONGEST_NAME} bytes, which no file can have."
