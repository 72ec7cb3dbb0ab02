"""How things look in a terminal, and what never gets there.

Imports nothing that is not loaded anyway: `openagent run` lives on this too.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

_ESCAPE = "\x1b"
_INTRODUCERS = {"[": "\x9b", "]": "\x9d", "P": "\x90", "X": "\x98", "^": "\x9e", "_": "\x9f"}
"""What follows ESC, and the same in one character."""
_CONTROL_SEQUENCE = "\x9b"
_STRINGS = "\x9d\x90\x98\x9e\x9f"
_STRING_END = "\x9c"
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that make text read in another order than it is written."""
_UNPRINTABLE = {code: None for code in (*range(32), *range(127, 160), *_DIRECTION) if code not in (9, 10)}

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"


def clean(text: str) -> str:
    """Text from a model, a tool or a file, fit to print: no escape sequence, no control but tab and newline."""
    if _ESCAPE in text or any(introducer in text for introducer in _INTRODUCERS.values()):
        text = _without_sequences(text)
    return text.translate(_UNPRINTABLE)


def _without_sequences(text: str) -> str:
    kept: list[str] = []
    place, end = 0, len(text)
    while place < end:
        character = text[place]
        place += 1
        if character == _ESCAPE:
            if place < end and text[place] in _INTRODUCERS:
                character = _INTRODUCERS[text[place]]
                place += 1
            else:
                place = _past(text, place, " /", "0~")
                continue
        if character == _CONTROL_SEQUENCE:
            place = _past(text, place, " ?", "@~")
        elif character in _STRINGS:
            place = _past_string(text, place)
        else:
            kept.append(character)
    return "".join(kept)


def _past(text: str, place: int, middle: str, final: str) -> int:
    """Past characters in the range `middle`, and one in the range `final`."""
    while place < len(text) and middle[0] <= text[place] <= middle[1]:
        place += 1
    return place + 1 if place < len(text) and final[0] <= text[place] <= final[1] else place


def _past_string(text: str, place: int) -> int:
    """Past the end of an operating system command or its like. One that never ends takes its line and no more."""
    for position in range(place, len(text)):
        if text[position] in ("\x07", _STRING_END):
            return position + 1
        if text[position] == _ESCAPE:
            return position + 2
        if text[position] == "\n":
            return position
    return len(text)


def one_line(text: str, width: int = 100) -> str:
    """The beginning of a text on one line."""
    line = " ".join(clean(text[: 8 * width]).split())
    return line if len(line) <= width and len(text) <= 8 * width else line[: width - 1] + "…"


def use_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    if not text or not use_colour(stream or sys.stdout):
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


def forgiving_streams() -> None:
    """What a terminal or a file cannot encode or decode becomes a question mark, not a traceback."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def silence_stdout() -> None:
    """Whoever read our output has gone, so that nothing complains about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def complain(problem: str, code: int) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"openagent: {clean(problem)}\n")
    return code


def duration(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def ago(at: float, now: float) -> str:
    seconds = max(int(now - at), 0)
    for size, unit in ((86400 * 365, "y"), (86400 * 30, "mo"), (86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def call_line(tool: str, subject: str, *, failed: bool, summary: str, duration_ms: float) -> str:
    """One tool call: `✓ edited core/turn.py +12 −3 · 4 ms`."""
    done = _DONE.get(tool, tool)
    changed = summary if summary.startswith("+") else ""
    facts = [one_line(f"{done} {subject} {changed}"), "" if changed else one_line(summary), duration(duration_ms)]
    return f"{'✗' if failed else '✓'} {' · '.join(fact for fact in facts if fact)}"


_DONE = {"edit_file": "edited", "read_file": "read", "write_file": "wrote", "shell": "ran"}


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they must be; the last one runs on."""
    lines = [list(headers), *([one_line(cell, 200) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers) - 1)]
    printed = [
        "  ".join([cell.ljust(width) for cell, width in zip(line, widths, strict=False)] + [line[-1]]).rstrip()
        for line in lines
    ]
    return "\n".join([paint(printed[0], BOLD), *printed[1:]])


class Prose:
    """Breaks streamed text at words, not in the middle of them. Code between fences is left as it is."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._word = ""
        self._column = 0
        self._line = ""
        self._in_code = False

    def feed(self, text: str) -> str:
        """What can be shown now; the last word may still grow, so it waits."""
        shown: list[str] = []
        for character in text:
            if character in " \n":
                shown.append(self._take_word())
                shown.append(self._space(character))
            else:
                self._word += character
        return "".join(shown)

    def flush(self) -> str:
        """The rest: the text has ended, or something else is shown in between."""
        return self._take_word()

    def _take_word(self) -> str:
        word, self._word = self._word, ""
        self._line += word
        if not self._in_code and self._column and self._column + len(word) > self._width:
            self._column = len(word)
            return "\n" + word
        self._column += len(word)
        return word

    def _space(self, character: str) -> str:
        if character == "\n":
            if self._line.lstrip().startswith("```"):
                self._in_code = not self._in_code
            self._line, self._column = "", 0
            return "\n"
        self._line += " "
        self._column += 1
        return " "


def prose_width() -> int:
    """Prose wider than this is hard to read."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        columns = 0
    return min(columns - 1, 88) if columns else 88  # a terminal that was never sized says 0
