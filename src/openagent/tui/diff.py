"""A unified diff in colour."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from textual.content import Content

from openagent.client.text import clean

_COLOURS = {"+": "$success", "-": "$error", "@": "$primary"}
_FOR_MACHINES = ("diff --git ", "index ")
MAX_LINES = 2000


def coloured(patch: str) -> Content:
    lines = [line for line in clean(patch).split("\n") if not line.startswith(_FOR_MACHINES)]
    shown = [
        Content.styled(line, "$foreground-muted" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1], ""))
        for line in lines[:MAX_LINES]
    ]
    if len(lines) > MAX_LINES:
        shown.append(Content.styled(f"… {len(lines) - MAX_LINES} more lines", "$foreground-muted"))
    return Content("\n").join(shown)


def change_in(arguments: Mapping[str, Any]) -> str:
    """What a call that edits would change, as far as its arguments tell: old lines out, new lines in."""
    if diff := str(arguments.get("patch") or arguments.get("diff") or ""):
        return diff
    given: Sequence[Any] = arguments.get("edits") or [arguments]
    edits = [cast(Mapping[str, Any], each) for each in given if isinstance(each, Mapping)]
    lines: list[str] = []
    for each in edits:
        lines += [f"-{line}" for line in str(each.get("old") or "").splitlines()]
        lines += [f"+{line}" for line in str(each.get("new") or each.get("content") or "").splitlines()]
    return "\n".join(lines)
