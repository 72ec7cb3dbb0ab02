"""What changed in a file: shown to a person, and told to a model whose picture of the file is out of date."""

import difflib
from collections.abc import Iterable

from openagent.plugins.files_read import GONE, Stamp, digest
from openagent.plugins.tool import ToolContext
from openagent.protocol.display import Display, WrittenFile
from openagent.protocol.errors import OpenAgentError

MAX_DIFF = 20_000
MAX_COMPARED = 512 * 1024
"""Larger files are not compared line by line."""
_NOTHING = "/dev/null"
_AROUND = 3
"""Lines around a change that are told with it."""
MAX_TOLD = 6_000
"""Characters of a diff that a model is told."""


def change_display(path: str, before: bytes | None, after: bytes) -> Display:
    """`before` is None for a file that was not there, or not read."""
    files = [WrittenFile(path, len(after))]
    if len(before or b"") > MAX_COMPARED or len(after) > MAX_COMPARED:
        return Display(path=path, files=files, summary=f"{len(after)} bytes")
    diff = _diff(path, before or b"", after)
    added = sum(line.startswith("+") for line in diff[2:])
    removed = sum(line.startswith("-") for line in diff[2:])
    return Display(
        path=path,
        files=files,
        diff="\n".join(diff)[:MAX_DIFF],
        added=added,
        removed=removed,
        summary=f"+{added} −{removed}",
    )


def previewed(changes: Iterable[tuple[str, bytes | None, bytes | None]]) -> str:
    """What a person is shown before they allow it: all of it. Each change is a path, what is there, what will be."""
    return "\n".join(
        "\n".join(_diff(path, before or b"", after or b"", new=before is None, gone=after is None))
        for path, before, after in changes
        if before != after
    )


def refuse_outdated(context: ToolContext, path: str, real: str, stamp: Stamp, content: bytes | None) -> None:
    """Raises when the file is not as the session last saw it. One that it never saw is taken as it is.

    The diff brings the model's picture up to date, so the same edit is allowed in a later step, when it has read it.
    """
    seen = context.files_read.get(real)
    if seen is None or seen.stamp == stamp:
        return
    if content is not None and seen.digest == digest(content):
        return
    if seen.stamp == GONE:
        raise OpenAgentError(
            "conflict", f"{path}, which you deleted, is there again. Nothing was written.", hint="Read it first."
        )
    told = ""
    if seen.content is not None and content is not None and len(content) <= MAX_COMPARED:
        told = "\n".join(_diff(path, seen.content, content))
    if not told or len(told) > MAX_TOLD:
        raise OpenAgentError(
            "conflict", f"{path} has changed since you read it. Nothing was written.", hint="Read it again."
        )
    context.files_read.saw(real, stamp, content)
    raise OpenAgentError(
        "conflict",
        f"{path} has changed since you read it. Nothing was written. What changed meanwhile:\n{told}\n",
        hint="Adapt to it and try again.",
    )


def _diff(path: str, before: bytes, after: bytes, *, new: bool = False, gone: bool = False) -> list[str]:
    old_lines, new_lines = (data.decode(errors="replace").splitlines() for data in (before, after))
    names = _NOTHING if new else path, _NOTHING if gone else path
    if old_lines != new_lines and max(len(before), len(after)) > MAX_COMPARED:
        return _one_hunk(old_lines, new_lines, names)
    return list(difflib.unified_diff(old_lines, new_lines, *names, lineterm="", n=_AROUND))


def _one_hunk(old: list[str], new: list[str], names: tuple[str, str]) -> list[str]:
    """Everything between the first and the last line that differ: true, and quickly found in a file of any size."""
    short = min(len(old), len(new))
    first = next((place for place in range(short) if old[place] != new[place]), short)
    last = next((back for back in range(short - first) if old[-1 - back] != new[-1 - back]), short - first)
    begin, after = max(first - _AROUND, 0), max(last - _AROUND, 0)
    counts = len(old) - after - begin, len(new) - after - begin
    starts = [begin + (1 if count else 0) for count in counts]
    return [
        f"--- {names[0]}",
        f"+++ {names[1]}",
        f"@@ -{starts[0]},{counts[0]} +{starts[1]},{counts[1]} @@",
        *(f" {line}" for line in old[begin:first]),
        *(f"-{line}" for line in old[first : len(old) - last]),
        *(f"+{line}" for line in new[first : len(new) - last]),
        *(f" {line}" for line in old[len(old) - last : len(old) - after]),
    ]
