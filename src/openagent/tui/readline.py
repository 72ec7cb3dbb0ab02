"""The keys of a shell's line, for the input: moving, cutting and putting back."""

from collections.abc import Callable

from textual.widgets import TextArea

Place = tuple[int, int]


class Readline:
    def __init__(self, area: TextArea) -> None:
        self._area = area
        self._cut = ""
        self._cut_last = False
        """The last key cut something: what is cut next belongs to it."""
        self._does: dict[str, Callable[[], None]] = {
            "line_start": lambda: self._go(area.get_cursor_line_start_location()),
            "line_end": lambda: self._go(area.get_cursor_line_end_location()),
            "character_left": area.action_cursor_left,
            "character_right": area.action_cursor_right,
            "word_left": area.action_cursor_word_left,
            "word_right": lambda: self._go(self._word_end()),
            "cut_to_end": lambda: self._take(self._line_end_or_next(), forward=True),
            "cut_to_start": lambda: self._take(self._line_start_or_before()),
            "cut_blank_word": lambda: self._take(self._blank_before()),
            "cut_word_left": lambda: self._take(area.get_cursor_word_left_location()),
            "cut_word_right": lambda: self._take(self._word_end(), forward=True),
            "put_back": lambda: self._insert(self._cut),
            "swap": self._swap,
            "undo": area.undo,
        }

    def does(self, action: str) -> None:
        cut, self._cut_last = self._cut_last, False
        if action.startswith("cut_") and not cut:
            self._cut = ""
        self._does[action]()

    def wrote(self) -> None:
        """Another key was pressed: what is cut from now on begins anew."""
        self._cut_last = False

    def _go(self, place: Place) -> None:
        self._area.move_cursor(place)

    def _insert(self, text: str) -> None:
        if text:
            self._area.insert(text)

    def _take(self, other: Place, *, forward: bool = False) -> None:
        here = self._area.cursor_location
        start, end = sorted((here, other))
        taken = self._area.get_text_range(start, end)
        self._cut_last = True
        if taken:
            self._cut = self._cut + taken if forward else taken + self._cut
            self._area.delete(start, end, maintain_selection_offset=False)
            self._go(start)

    def _line_end_or_next(self) -> Place:
        end = self._area.get_cursor_line_end_location()
        return self._area.get_cursor_right_location() if end == self._area.cursor_location else end

    def _line_start_or_before(self) -> Place:
        row, column = self._area.cursor_location
        return (row, 0) if column else self._area.get_cursor_left_location()

    def _blank_before(self) -> Place:
        row, column = self._area.cursor_location
        if not column:
            return self._area.get_cursor_left_location()
        before = self._area.document.get_line(row)[:column].rstrip()
        return row, max((before.rfind(blank) + 1 for blank in " \t"), default=0)

    def _word_end(self) -> Place:
        row, column = self._area.cursor_location
        line = self._area.document.get_line(row)
        if column >= len(line):
            return self._area.get_cursor_right_location()
        while column < len(line) and not line[column].isalnum():
            column += 1
        while column < len(line) and line[column].isalnum():
            column += 1
        return row, column

    def _swap(self) -> None:
        row, column = self._area.cursor_location
        line = self._area.document.get_line(row)
        at = min(column, len(line) - 1)
        if at > 0:
            self._area.replace(line[at] + line[at - 1], (row, at - 1), (row, at + 1))
            self._go((row, at + 1))
