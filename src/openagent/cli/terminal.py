"""How things look in a plain terminal.

Imports nothing that is not loaded anyway: `openagent run` lives on this too.
"""

from __future__ import annotations

import os
import sys

from openagent.client.text import clean, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"


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
    return min(columns(), 88)


def columns() -> int:
    """That can be written into without the terminal breaking the line."""
    try:
        wide = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        wide = 0
    return wide - 1 if wide > 1 else 88  # a terminal that was never sized says 0
