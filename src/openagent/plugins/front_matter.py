"""Markdown with front matter: `---`, lines of `key: value`, `---`, then text.

Of YAML it reads what such files use: plain and quoted values, `[a, b]`, `{a: b}`, lists of `- item`, one level of keys
below a key, and text under `|` or `>`. What lies deeper stays the text it is. Values stay text; whoever reads them
knows what they should be. People write these files by hand and for other programs: a line that makes no sense is told
of and costs that line, never the file.
"""

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from openagent.protocol.errors import OpenAgentError

MAX_LENGTH = 64 * 1024
_FENCE = "---"
_KEY = re.compile(r"""["']?([A-Za-z_][\w.-]*)["']?\s*:(?:\s+(.*))?$""")
_KEY_BELOW = re.compile(r"""(?:"([^"]*)"|'([^']*)'|([^\s:#"'-][^:]*?|\*))\s*:(?:\s+(.*))?$""")
_ITEM = re.compile(r"\s*-(?:\s+(.*))?$")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""", re.DOTALL)
_COMMENT = re.compile(r"\s+#.*$")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

_USUAL_KEYS = frozenset(
    {"name", "description", "model", "tools", "color", "mode", "permissionMode", "allowed-tools", "skills", "hooks"}
)
"""What ends a text that runs on without being indented; `user:` in an example does not."""

Value = str | list[str] | dict[str, str]


class Entry(NamedTuple):
    value: Value
    line: int


class Slip(NamedTuple):
    """Something that was meant otherwise than it is written."""

    place: str
    what: str
    hint: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}."

    def error(self) -> OpenAgentError:
        return OpenAgentError("config_error", str(self), hint=self.hint)


class FrontMatter(NamedTuple):
    entries: dict[str, Entry]
    body: str
    slips: list[Slip]

    def text(self, key: str) -> str:
        value = self.entries[key].value if key in self.entries else ""
        return value if isinstance(value, str) else ", ".join(value)

    def listed(self, key: str) -> list[str]:
        """Also of one line with commas: those inside parentheses separate nothing."""
        value = self.entries[key].value if key in self.entries else ""
        return split_list(value) if isinstance(value, str) else list(value)


def parse_front_matter(text: str, file: str) -> FrontMatter:
    """Raises OpenAgentError('config_error') that names file and line where it cannot be told what is header and what is
    text. A text without front matter is all body."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() != _FENCE:
        return FrontMatter({}, text.strip(), [])
    end = next((number for number in range(first + 1, len(lines)) if lines[number].rstrip() == _FENCE), None)
    if end is None:
        what, hint = "the front matter that begins here has no end", "Close it with a line of `---`."
        raise Slip(f"{file}:{first + 1}", what, hint).error()
    if sum(map(len, lines[:end])) > MAX_LENGTH:
        raise Slip(f"{file}:1", f"the front matter is longer than {MAX_LENGTH >> 10} kB", "Shorten it.").error()
    reader = _Reader(lines, end, file)
    reader.read(first + 1)
    return FrontMatter(reader.entries, "\n".join(lines[end + 1 :]).strip(), reader.slips)


class _Reader:
    def __init__(self, lines: Sequence[str], end: int, file: str) -> None:
        self._lines = lines
        self._end = end
        self._file = file
        self.entries: dict[str, Entry] = {}
        self.slips: list[Slip] = []

    def read(self, at: int) -> None:
        before, runs_on = "", False
        while at < self._end:
            line = self._lines[at]
            if not line.strip() or line.lstrip().startswith("#"):
                at += 1
                continue
            found = _KEY.match(line)
            if found is None or (runs_on and found[1] not in _USUAL_KEYS):
                self._stray(line, at + 1, before, told=runs_on)
                runs_on = bool(before)
                at += 1
                continue
            runs_on = False
            key, given = found[1], (found[2] or "").strip()
            below = self._below(at + 1, given)
            if key in self.entries:
                self._slip(at + 1, f"`{key}` stands there a second time", "Remove one of the two.")
            else:
                self.entries[key] = Entry(self._value(given, self._lines[at + 1 : below], at + 1), at + 1)
            before, at = key, below

    def _below(self, at: int, given: str) -> int:
        """Where what belongs to a key ends: indented lines, and items also where they are not."""
        while at < self._end:
            line = self._lines[at]
            if line.strip() and line[0] not in " \t" and not (not given and _ITEM.match(line)):
                break
            at += 1
        return at

    def _stray(self, line: str, number: int, before: str, *, told: bool) -> None:
        """Text that goes on in the next line without being indented is no YAML, and is meant all the same."""
        if not told:
            self._slip(number, f"{line.strip()[:60]!r} is not `key: value`", "Correct that line.")
        if before and isinstance(said := self.entries[before].value, str) and said:
            self.entries[before] = self.entries[before]._replace(value=f"{said}\n{line.strip()}")

    def _slip(self, line: int, what: str, hint: str) -> None:
        self.slips.append(Slip(f"{self._file}:{line}", what, hint))

    def _value(self, given: str, below: Sequence[str], line: int) -> Value:
        if given[:1] in ("|", ">"):
            return _block(below, folded=given[0] == ">")
        inner = [each for each in below if each.strip() and not each.lstrip().startswith("#")]
        if not given and inner:
            if _ITEM.match(inner[0]):
                return [self._inner(each, line) for each in _items(inner)]
            if _KEY_BELOW.match(inner[0].strip()):
                return {key: self._inner(value, line) for key, value in _keys(inner).items()}
        if inner:  # a value that goes on in the next line
            given = " ".join([given, *(each.strip() for each in inner)]).strip()
        if given.startswith("["):
            if not given.endswith("]"):
                self._slip(line, "the list has no closing bracket", "Close it with `]`.")
            return [self._plain(each, line) for each in split_list(given[1:].removesuffix("]"))]
        if given.startswith("{") and given.endswith("}"):
            return {key: self._plain(value, line) for key, value in _keys(split_list(given[1:-1])).items()}
        return self._plain(given, line)

    def _inner(self, given: str, line: int) -> str:
        """What goes on below is left as it is written."""
        return given.strip() if "\n" in given else self._plain(given, line)

    def _plain(self, given: str, line: int) -> str:
        given = given.strip()
        if given[:1] not in ("'", '"'):
            return _COMMENT.sub("", given)
        found = _QUOTED.match(given)
        if found is None:
            self._slip(line, f"the quotes of {given[:60]} do not match", "Close them.")
            return given
        inner = found[1][1:-1]
        if given[0] == "'":
            return inner.replace("''", "'")
        return re.sub(r"\\(.)", lambda escaped: _ESCAPES.get(escaped[1], escaped[0]), inner)


def _items(lines: Sequence[str]) -> list[str]:
    """Each with what stands below it."""
    found: list[str] = []
    margin = _margin(lines[0])
    for line in lines:
        item = _ITEM.match(line)
        if item is not None and _margin(line) <= margin:
            found.append(item[1] or "")
        else:
            found[-1] += f"\n{line.strip()}"
    return found


def _keys(lines: Sequence[str]) -> dict[str, str]:
    """One level; what stands deeper is the text of its key."""
    found: dict[str, str] = {}
    key, margin = "", _margin(lines[0]) if lines else 0
    for line in lines:
        entry = _KEY_BELOW.match(line.strip()) if _margin(line) <= margin else None
        if entry is not None:
            key = entry[1] or entry[2] or entry[3] or ""
            found.setdefault(key, entry[4] or "")
        elif key:
            found[key] += f"\n{line.strip()}"
    return found


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(lines: Sequence[str], *, folded: bool) -> str:
    if not folded:
        return textwrap.dedent("\n".join(lines)).strip()
    return " ".join(each.strip() for each in lines).strip()


def split_list(text: str) -> list[str]:
    """At commas outside quotes and brackets."""
    found = re.findall(r"""(?:"[^"]*"|'[^']*'|\([^)]*\)|[^,])+""", text)
    return [each.strip() for each in found if each.strip()]
