"""Which line of a TOML document each key stands on.

`tomllib` does not say. This walks a document that tomllib has accepted, so it need not check anything: it only has
to find where strings, arrays and tables begin and end.
"""

import re
import tomllib
from collections.abc import Callable

from openagent.config.source import KeyPath

_BLANK = re.compile(r"[ \t]*")
_BLANK_AND_LINES = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def key_lines(document: str) -> dict[KeyPath, int]:
    """Every key, table and list item, with the number of the line where it is first written."""
    return _Walk(document.replace("\r\n", "\n")).document()


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._list_lengths: dict[KeyPath, int] = {}

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip(_BLANK_AND_LINES) < len(self._text):
            if self._text.startswith("[[", self._at):
                table = self._header(2)
            elif self._text[self._at] == "[":
                table = self._header(1)
            else:
                self._key_and_value(table)
        return self._lines

    def _header(self, brackets: int) -> KeyPath:
        self._at += brackets
        start = self._at
        *parents, name = self._key()
        table = (*self._resolve((), parents), name)
        if brackets == 2:
            self._list_lengths[table] = self._list_lengths.get(table, 0) + 1
            table = self._resolve(table[:-1], [name])
        self._note(table, start)
        self._skip(_BLANK)
        self._at += brackets
        return table

    def _key_and_value(self, table: KeyPath) -> None:
        start = self._at
        *parents, name = self._key()
        path = (*self._resolve(table, parents), name)
        self._note(path, start)
        self._skip(_BLANK)
        self._at += 1
        self._skip(_BLANK)
        self._value(path)

    def _resolve(self, table: KeyPath, names: list[str]) -> KeyPath:
        """A name that stands for an array of tables means its newest table."""
        for name in names:
            table = (*table, name)
            if table in self._list_lengths:
                table = (*table, self._list_lengths[table] - 1)
        return table

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            start = self._at
            if self._text[start] in "\"'":
                self._skip(_STRING)
                parts.append(tomllib.loads(f"key = {self._text[start : self._at]}")["key"])
            else:
                self._skip(_BARE_KEY)
                parts.append(self._text[start : self._at])
            self._skip(_BLANK)
            if not self._text.startswith(".", self._at):
                return parts
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._at]
        if first in "\"'":
            self._skip(_STRING)
        elif first == "[":
            self._items("]", lambda index: self._item((*path, index)))
        elif first == "{":
            self._items("}", lambda _: self._key_and_value(path))
        else:
            self._skip(_SCALAR)

    def _items(self, closing: str, item: Callable[[int], None]) -> None:
        self._at += 1
        index = 0
        while not self._text.startswith(closing, self._skip(_BLANK_AND_LINES)):
            if self._text[self._at] == ",":
                self._at += 1
                continue
            item(index)
            index += 1
        self._at += 1

    def _item(self, path: KeyPath) -> None:
        self._note(path, self._at)
        self._value(path)

    def _note(self, path: KeyPath, position: int) -> None:
        line = self._text.count("\n", 0, position) + 1
        for depth in range(1, len(path) + 1):
            self._lines.setdefault(path[:depth], line)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        if found := pattern.match(self._text, self._at):
            self._at = found.end()
        return self._at
