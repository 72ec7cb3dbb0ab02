"""The hunks of a patch, and a file without some of them: every other byte stays as it is."""

import re
from collections.abc import Collection, Sequence
from io import BytesIO
from typing import NamedTuple

_HEAD = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class Hunk(NamedTuple):
    """Lines counted from 0, the end not among them."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def hunks_of(patch: bytes) -> list[Hunk]:
    """Lines of a file are told with a sign before them, so that none of them looks like the head of a hunk."""
    return [Hunk(*_lines(found[1], found[2]), *_lines(found[3], found[4])) for found in _HEAD.finditer(patch)]


def _lines(start: bytes, count: bytes | None) -> tuple[int, int]:
    """No lines at all are told by the line before them."""
    number = int(count) if count is not None else 1
    first = int(start) - (1 if number else 0)
    return first, first + number


def without(before: bytes, after: bytes, hunks: Sequence[Hunk], chosen: Collection[int]) -> bytes:
    """`after` with the chosen hunks, counted from 1, as they were before."""
    old, new = BytesIO(before).readlines(), BytesIO(after).readlines()
    result: list[bytes] = []
    at = 0
    for number, hunk in enumerate(hunks, 1):
        if number in chosen:
            result += new[at : hunk.new_start]
            result += old[hunk.old_start : hunk.old_end]
            at = hunk.new_end
    return b"".join([*result, *new[at:]])
