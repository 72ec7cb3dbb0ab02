"""Vim's keys for the input: normal and insert mode, counts, motions, operators, one register."""

import re
from collections.abc import Callable

from textual.widgets import TextArea

_WORD = re.compile(r"\w+|[^\w\s]+")
_DIGITS = "123456789"


class Vim:
    def __init__(self, area: TextArea) -> None:
        self._area = area
        self._typed: str = ""
        """The command so far: count, operator."""
        self._register = ""
        self.inserting = True
        self._motions: dict[str, Callable[[str, int], int]] = {
            "h": lambda text, at: max(at - 1, _line_start(text, at)),
            "l": lambda text, at: min(at + 1, _line_end(text, at)),
            "left": lambda text, at: max(at - 1, 0),
            "right": lambda text, at: min(at + 1, len(text)),
            "j": lambda text, at: _other_line(text, at, 1),
            "k": lambda text, at: _other_line(text, at, -1),
            "0": _line_start,
            "^": lambda text, at: _line_start(text, at) + _indent(text[_line_start(text, at) : _line_end(text, at)]),
            "$": _line_end,
            "w": _next_word,
            "b": _word_before,
            "e": _word_end,
            "G": lambda text, at: len(text),
            "gg": lambda text, at: 0,
        }
        self._commands: dict[str, Callable[[int], None]] = {
            "i": lambda count: self._insert_at(self._at),
            "a": lambda count: self._insert_at(min(self._at + 1, _line_end(self._text, self._at))),
            "I": lambda count: self._insert_at(_line_start(self._text, self._at)),
            "A": lambda count: self._insert_at(_line_end(self._text, self._at)),
            "o": lambda count: self._open_line(_line_end(self._text, self._at), after=True),
            "O": lambda count: self._open_line(_line_start(self._text, self._at), after=False),
            "x": lambda count: self._take(self._at, min(self._at + count, _line_end(self._text, self._at)), "d"),
            "X": lambda count: self._take(max(self._at - count, _line_start(self._text, self._at)), self._at, "d"),
            "s": lambda count: self._take(self._at, min(self._at + count, _line_end(self._text, self._at)), "c"),
            "D": lambda count: self._take(self._at, _line_end(self._text, self._at), "d"),
            "C": lambda count: self._take(self._at, _line_end(self._text, self._at), "c"),
            "p": lambda count: self._put(count, after=True),
            "P": lambda count: self._put(count, after=False),
            "u": lambda count: self._again(self._area.undo, count),
            "ctrl+r": lambda count: self._again(self._area.redo, count),
        }

    @property
    def _text(self) -> str:
        return self._area.text

    @property
    def _at(self) -> int:
        row, column = self._area.cursor_location
        return sum(len(line) + 1 for line in self._text.split("\n")[:row]) + column

    def start(self, *, inserting: bool = True) -> None:
        self.inserting, self._typed = inserting, ""

    def handles(self, key: str) -> bool:
        """A key in normal mode; escape leaves insert mode. Returns whether it was used."""
        if self.inserting:
            if key != "escape":
                return False
            self.start(inserting=False)
            self._go(max(self._at - 1, _line_start(self._text, self._at)))
            return True
        if key == "escape":
            used, self._typed = bool(self._typed), ""
            return used
        pressed = _NAMED.get(key, key)
        if len(pressed) > 1 and pressed not in self._motions and pressed not in self._commands:
            return False
        self._press(pressed)
        return True

    def _press(self, key: str) -> None:
        typed, self._typed = self._typed, ""
        count, operator, rest = _parsed(typed)
        if key in _DIGITS or (key == "0" and typed[-1:].isdigit()):
            self._typed = typed + key
        elif rest == "r":
            self._replace(key)
        elif (key in ("g", "r") and not rest) or (key in ("d", "c", "y") and not operator):
            self._typed = typed + key
        elif operator and key == operator:
            self._whole_lines(count, operator)
        elif motion := self._motions.get(rest + key):
            self._move(rest + key, motion, count, operator)
        elif not operator and not rest and (command := self._commands.get(key)):
            command(count)

    def _move(self, name: str, motion: Callable[[str, int], int], count: int, operator: str) -> None:
        text, at = self._text, self._at
        to = at
        if operator == "c" and name == "w":  # as in vim: the word, not the blank behind it
            name, motion = "e", _word_end
        for _ in range(count):
            to = motion(text, to)
        if not operator:
            self._go(to)
            return
        if name in ("j", "k", "G", "gg"):
            first, last = sorted((at, to))
            self._take(_line_start(text, first), min(_line_end(text, last) + 1, len(text)), operator)
            return
        first, last = sorted((at, to))
        self._take(first, min(last + (name == "e"), len(text)), operator)

    def _whole_lines(self, count: int, operator: str) -> None:
        text, at = self._text, self._at
        start = end = _line_start(text, at)
        for _ in range(count):
            end = min(_line_end(text, end) + 1, len(text))
        if operator == "c":
            self._take(start, _line_end(text, max(end - 1, start)), operator)
            return
        self._register = text[start:end].rstrip("\n") + "\n"
        if operator == "d":
            if end == len(text) and start > 0 and not text.endswith("\n"):
                start -= 1
            self._change(start, end, "")
            self._go(_line_start(self._text, min(start, len(self._text))))

    def _take(self, start: int, end: int, operator: str) -> None:
        self._register = self._text[start:end]
        if operator != "y":
            self._change(start, end, "")
        self._go(start)
        if operator == "c":
            self.start()

    def _put(self, count: int, *, after: bool) -> None:
        text, at = self._text, self._at
        if self._register.endswith("\n"):
            place = min(_line_end(text, at) + 1, len(text)) if after else _line_start(text, at)
            lines = self._register * count
            if after and place == len(text) and not text.endswith("\n"):
                lines = "\n" + lines[:-1]
            self._change(place, place, lines)
            self._go(place + lines.startswith("\n"))
        elif self._register:
            place = min(at + 1, _line_end(text, at)) if after else at
            self._change(place, place, self._register * count)
            self._go(place + len(self._register) * count - 1)

    @staticmethod
    def _again(step: Callable[[], None], count: int) -> None:
        for _ in range(count):
            step()

    def _replace(self, key: str) -> None:
        if len(key) == 1 and self._at < _line_end(self._text, self._at):
            at = self._at
            self._change(at, at + 1, key)
            self._go(at)

    def _open_line(self, at: int, *, after: bool) -> None:
        self._change(at, at, "\n")
        self._insert_at(at + after)

    def _insert_at(self, at: int) -> None:
        self._go(at)
        self.start()

    def _change(self, start: int, end: int, new: str) -> None:
        self._area.replace(new, _location(self._text, start), _location(self._text, end))

    def _go(self, at: int) -> None:
        self._area.move_cursor(_location(self._text, max(0, min(at, len(self._text)))))


_NAMED = {" ": "l", "backspace": "h", "home": "0", "end": "$"}


def _parsed(typed: str) -> tuple[int, str, str]:
    """Count, operator, and what else was typed: `2d3` is (6, "d", "")."""
    match = re.fullmatch(r"(\d*)([dcy]?)(\d*)([gr]?)", typed)
    if match is None:
        return 1, "", ""
    first, operator, second, rest = match.groups()
    return int(first or 1) * int(second or 1), operator, rest


def _location(text: str, at: int) -> tuple[int, int]:
    before = text[:at]
    return before.count("\n"), at - (before.rfind("\n") + 1)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _other_line(text: str, at: int, step: int) -> int:
    start = _line_start(text, at)
    column = at - start
    if step > 0:
        below = _line_end(text, at) + 1
        return at if below > len(text) else min(below + column, _line_end(text, below))
    if start == 0:
        return at
    above = _line_start(text, start - 1)
    return min(above + column, start - 1)


def _next_word(text: str, at: int) -> int:
    return next((match.start() for match in _WORD.finditer(text) if match.start() > at), len(text))


def _word_before(text: str, at: int) -> int:
    starts = [match.start() for match in _WORD.finditer(text, 0, at)]
    return starts[-1] if starts else 0


def _word_end(text: str, at: int) -> int:
    return next((match.end() - 1 for match in _WORD.finditer(text) if match.end() - 1 > at), max(len(text) - 1, 0))
