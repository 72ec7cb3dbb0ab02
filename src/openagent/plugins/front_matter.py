"""Markdown with front matter: `---`, lines of `key: value`, `---`, then text.

Of YAML it reads what such files use: plain and quoted values, `[a, b]`, lists of `- item`, and text under `|` or `>`.
Values stay text; whoever reads them knows what they should be.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from openagent.protocol.errors import OpenAgentError

MAX_LENGTH = 64 * 1024
_FENCE = "---"
_KEY = re.compile(r"([A-Za-z_][\w-]*)\s*:(?:\s+(.*))?$")
_ITEM = re.compile(r"\s*-\s+(.*)$")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""")
_COMMENT = re.compile(r"\s+#.*$")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


class Entry(NamedTuple):
    value: str | list[str]
    line: int


class FrontMatter(NamedTuple):
    entries: dict[str, Entry]
    body: str

    def text(self, key: str) -> str:
        value = self.entries[key].value if key in self.entries else ""
        return value if isinstance(value, str) else ", ".join(value)

    def listed(self, key: str) -> list[str]:
        """Also of one line with commas: those inside parentheses separate nothing."""
        value = self.entries[key].value if key in self.entries else ""
        return value if isinstance(value, list) else split_list(value)


def parse_front_matter(text: str, file: str) -> FrontMatter:
    """Raises OpenAgentError('config_error') that names file and line. A text without front matter is all body."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if not lines or lines[0].rstrip() != _FENCE:
        return FrontMatter({}, text.strip())
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise _wrong(file, 1, "the front matter that begins here has no end", "Close it with a line of `---`.")
    if sum(map(len, lines[:end])) > MAX_LENGTH:
        raise _wrong(file, 1, f"the front matter is longer than {MAX_LENGTH >> 10} kB", "Shorten it.")
    entries: dict[str, Entry] = {}
    at = 1
    while at < end:
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            at += 1
            continue
        found = _KEY.match(line)
        if found is None:
            raise _wrong(file, at + 1, f"{line.strip()[:60]!r} is not `key: value`", "Correct that line.")
        key, given = found[1], (found[2] or "").strip()
        if key in entries:
            raise _wrong(file, at + 1, f"`{key}` stands there a second time", "Remove one of the two.")
        below = at + 1
        while below < end and (not lines[below].strip() or lines[below][0] in " \t" or _is_item(lines[below], given)):
            below += 1
        entries[key] = Entry(_value(given, lines[at + 1 : below], file, at + 1), at + 1)
        at = below
    return FrontMatter(entries, "\n".join(lines[end + 1 :]).strip())


def _is_item(line: str, given: str) -> bool:
    return not given and _ITEM.match(line) is not None


def _value(given: str, below: Sequence[str], file: str, line: int) -> str | list[str]:
    if given[:1] in ("|", ">"):
        return _block([each.strip() for each in below], folded=given[0] == ">")
    items = [each for each in below if each.strip() and not each.lstrip().startswith("#")]
    if not given and items:
        found = [_ITEM.match(each) for each in items]
        if not all(found):
            raise _wrong(file, line, "what follows here is neither a list of `- item` nor one value", "Correct it.")
        return [_plain(each[1], file, line) for each in found if each]
    if items:  # a value that goes on in the next line
        given = " ".join([given, *(each.strip() for each in items)])
    if given.startswith("["):
        if not given.endswith("]"):
            raise _wrong(file, line, "the list has no closing bracket", "Close it with `]`.")
        return [_plain(each, file, line) for each in split_list(given[1:-1])]
    return _plain(given, file, line)


def _block(lines: Sequence[str], *, folded: bool) -> str:
    return (" " if folded else "\n").join(lines).strip()


def _plain(given: str, file: str, line: int) -> str:
    given = given.strip()
    if given[:1] not in ("'", '"'):
        return _COMMENT.sub("", given)
    found = _QUOTED.match(given)
    if found is None:
        raise _wrong(file, line, f"the quotes of {given[:60]} do not match", "Close them.")
    inner = found[1][1:-1]
    if given[0] == "'":
        return inner.replace("''", "'")
    return re.sub(r"\\(.)", lambda escaped: _ESCAPES.get(escaped[1], escaped[0]), inner)


def split_list(text: str) -> list[str]:
    """At commas outside quotes and brackets."""
    found = re.findall(r"""(?:"[^"]*"|'[^']*'|\([^)]*\)|[^,])+""", text)
    return [each.strip() for each in found if each.strip()]


def _wrong(file: str, line: int, what: str, hint: str) -> OpenAgentError:
    return OpenAgentError("config_error", f"{file}:{line}: {what}.", hint=hint)
