"""Fitting the hunks of a patch into a text."""

from collections.abc import Callable, Sequence

from openagent.protocol.errors import OpenAgentError
from openagent.tools.near_match import describe_near_match
from openagent.tools.patches import FilePatch, Hunk

_LIKENESSES: tuple[Callable[[str], str], ...] = (lambda line: line.removesuffix("\r"), str.rstrip, str.strip)
"""How alike lines must be, from the strictest: a patch may be careless about whitespace, never about words."""


def patched(text: str, patch: FilePatch) -> str:
    """Raises OpenAgentError. Lines that the patch only mentions stay as they are in the text."""
    lines = text.split("\n")
    ends_in_newline = lines[-1] == ""
    if ends_in_newline:
        lines.pop()
    return_character = "\r" if text.count("\r\n") * 2 > text.count("\n") else ""
    cursor = shift = 0
    for number, hunk in enumerate(patch.hunks, 1):
        start, old_length = _locate(lines, hunk, cursor, shift, f"Hunk {number} of {patch.path}")
        replacement = _replacement(lines[start : start + old_length], hunk, return_character)
        if hunk.no_final_newline is not None:
            ends_in_newline = not hunk.no_final_newline
        lines[start : start + old_length] = replacement
        shift += len(replacement) - old_length
        cursor = start + len(replacement)
    return "\n".join(lines) + ("\n" if ends_in_newline and lines else "")


def added_text(patch: FilePatch) -> str:
    """The content of a new file."""
    lines = [line.text for hunk in patch.hunks for line in hunk.lines if line.kind == "+"]
    without_newline = any(hunk.no_final_newline for hunk in patch.hunks)
    return "\n".join(lines) + ("" if without_newline or not lines else "\n")


def _replacement(found: Sequence[str], hunk: Hunk, return_character: str) -> list[str]:
    result: list[str] = []
    position = 0
    for line in hunk.lines:
        if line.kind == "+":
            result.append(line.text + return_character)
        elif position < len(found):
            if line.kind == " ":
                result.append(found[position])
            position += 1
    return result


def _locate(lines: Sequence[str], hunk: Hunk, cursor: int, shift: int, which: str) -> tuple[int, int]:
    """Where the hunk's old lines are, and how many."""
    for anchor in hunk.anchors:
        cursor = _find_anchor(lines, anchor, cursor, which) + 1
    old = [line.text for line in hunk.lines if line.kind != "+"]
    if not old:
        return _place_of_insertion(lines, hunk, cursor, shift), 0
    hint = hunk.at - 1 + shift if hunk.at is not None else None
    for wanted in (old, old[:-1]) if len(old) > 1 and not old[-1] else (old,):
        found = _find(lines, wanted, cursor, hint, hunk.at_end)
        if found >= 0:
            return found, len(wanted)
    sought = "\n".join(old)
    near = describe_near_match("\n".join(lines), sought)
    raise OpenAgentError(
        "tool_error", f"{which} does not fit: these lines are not there:\n{sought[:1000]}\n{near} Nothing was written."
    )


def _place_of_insertion(lines: Sequence[str], hunk: Hunk, cursor: int, shift: int) -> int:
    if hunk.at is not None:
        return min(max(hunk.at + shift, cursor), len(lines))
    return cursor if hunk.anchors and not hunk.at_end else len(lines)


def _find_anchor(lines: Sequence[str], anchor: str, cursor: int, which: str) -> int:
    for alike in _LIKENESSES:
        for place in range(cursor, len(lines)):
            if alike(lines[place]) == alike(anchor):
                return place
    raise OpenAgentError("tool_error", f"{which} does not fit: there is no line {anchor!r}. Nothing was written.")


def _find(lines: Sequence[str], wanted: Sequence[str], cursor: int, hint: int | None, at_end: bool) -> int:
    last = len(lines) - len(wanted)
    for alike in _LIKENESSES:
        aim = [alike(line) for line in wanted]
        shown = [alike(line) for line in lines[cursor:]]
        fitting = (
            cursor + place
            for place in range(last - cursor + 1)
            if shown[place] == aim[0] and shown[place : place + len(aim)] == aim
        )
        if at_end or hint is not None:
            near = last if at_end else hint or 0
            found = min(fitting, key=lambda place: abs(place - near), default=-1)
        else:
            found = next(fitting, -1)
        if found >= 0:
            return found
    return -1
