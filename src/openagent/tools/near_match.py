"""What a text that was not found may have meant."""

import difflib
import re
from collections.abc import Sequence

_MAX_COMPARISONS = 2_000_000
_MAX_FUZZY_LINES = 3000
_MAX_SHOWN_LINES = 12
_MAX_LINE = 300
_NUMBERED = re.compile(r"\s*\d+\t")


def describe_near_match(text: str, wanted: str) -> str:
    """A sentence and the nearest lines; empty when nothing is near."""
    lines, searched = text.split("\n"), wanted.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in searched):
        return " It seems to hold the line numbers that read_file shows: leave them out."
    if len(lines) * len(searched) > _MAX_COMPARISONS:
        return ""
    stripped, aim = [_squeezed(line) for line in lines], [_squeezed(line) for line in searched]
    place, hits = _best_window(stripped, aim)
    if hits == len(aim):
        return " It differs in whitespace only; the file has:\n" + _shown(lines, place, len(aim))
    if hits == 0:
        place = _similar_line(stripped, aim)
        if place < 0:
            return ""
    return " The nearest lines are:\n" + _shown(lines, place, len(aim))


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _best_window(lines: Sequence[str], aim: Sequence[str]) -> tuple[int, int]:
    """Where most of the lines stand in their places; blank lines count only when all are there."""
    telling = [(offset, line) for offset, line in enumerate(aim) if line]
    best, most = 0, 0
    for start in range(len(lines)):
        hits = sum(start + offset < len(lines) and lines[start + offset] == line for offset, line in telling)
        if hits > most:
            best, most = start, hits
    return best, len(aim) if telling and most == len(telling) else most


def _similar_line(lines: Sequence[str], aim: Sequence[str]) -> int:
    longest = max(range(len(aim)), key=lambda offset: len(aim[offset]))
    if not aim[longest] or len(lines) > _MAX_FUZZY_LINES:
        return -1
    near = difflib.get_close_matches(aim[longest][:_MAX_LINE], [line[:_MAX_LINE] for line in lines], 1, 0.7)
    if not near:
        return -1
    found = next(number for number, line in enumerate(lines) if line[:_MAX_LINE] == near[0])
    return max(found - longest, 0)


def _shown(lines: Sequence[str], start: int, count: int) -> str:
    end = min(start + min(count, _MAX_SHOWN_LINES), len(lines))
    return "\n".join(f"{number + 1}\t{lines[number][:_MAX_LINE]}" for number in range(start, end)) + "\n"
