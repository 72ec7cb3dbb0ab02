"""Markdown with a header: `---`, `key: value` lines, `---`, then the text.

The header is the plain part of YAML that people write there: words, quoted words, lists, and text over several lines.
"""

import re

from msgspec import Struct

from openagent.protocol.errors import OpenAgentError

MAX_HEADER = 64 * 1024
_KEY = re.compile(r"([A-Za-z][\w.-]*)\s*:(?:\s+(.*)|)$")
_BLOCK = re.compile(r"[|>][+-]?")
Value = str | list[str]


class FrontMatter(Struct, frozen=True):
    fields: dict[str, Value]
    body: str

    def text(self, key: str) -> str:
        value = self.fields.get(key, "")
        return value if isinstance(value, str) else ", ".join(value)

    def listed(self, key: str) -> list[str]:
        """Also of one line with commas: those inside parentheses separate nothing."""
        value = self.fields.get(key, "")
        return value if isinstance(value, list) else [each.strip() for each in _split(value) if each.strip()]


def parse_front_matter(text: str) -> FrontMatter:
    """Text without a header has no fields. Raises OpenAgentError for a header that makes no sense."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return FrontMatter({}, text)
    end = re.compile(r"^---[ \t]*$", re.MULTILINE).search(text, 4)
    if end is None:
        raise _broken("it begins with --- and has no second ---")
    if end.start() > MAX_HEADER:
        raise _broken(f"it is longer than {MAX_HEADER >> 10} kB")
    return FrontMatter(_fields(text[4 : end.start()].splitlines()), text[end.end() :].lstrip("\n"))


def _fields(lines: list[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.match(line)
        if match is None:
            raise _broken(f"the line {line[:60]!r} is not `key: value`")
        below = _indented(lines, place)
        place += len(below)
        fields[match.group(1)] = _value((match.group(2) or "").strip(), below)
    return fields


def _indented(lines: list[str], place: int) -> list[str]:
    """What belongs to the key above it."""
    below: list[str] = []
    for line in lines[place:]:
        if line.strip() and not line.startswith((" ", "\t", "- ")):
            break
        below.append(line)
    return below


def _value(given: str, below: list[str]) -> Value:
    said = [line.strip() for line in below]
    if _BLOCK.fullmatch(given):
        return ("\n" if given[0] == "|" else " ").join(said).strip()
    if not given and (items := [line for line in said if line]) and all(item.startswith("-") for item in items):
        return [_word(item[1:]) for item in items]
    if given.startswith("[") and given.endswith("]"):
        return [_word(item) for item in _split(given[1:-1]) if item.strip()]
    return " ".join([_word(given), *(line for line in said if line)]).strip()


def _word(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text.split(" #")[0].strip()


def _split(text: str) -> list[str]:
    """At commas outside of parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _broken(why: str) -> OpenAgentError:
    return OpenAgentError("config_error", f"The header cannot be read: {why}.", hint="Correct it.")
