"""What words stand for when the command runs, as far as that can be known beforehand."""

import itertools
import os.path
import re
from collections.abc import Iterable

from msgspec import Struct

from openagent.bash import UNKNOWN
from openagent.bash.preparing import NotUnderstood

FROM_NETWORK = "\1"
"""Beside UNKNOWN: it comes off the network."""
SENSITIVE = "\2"
"""Beside UNKNOWN: it holds keys, tokens or the environment."""

MAX_FIELDS = 128
_MAX_TEXT = 64 * 1024
_GLOB = re.compile(r"[*?]|\[[^\]]+\]")
_RANGE = re.compile(r"\{-?\w+\.\.-?\w+(?:\.\.-?\d+)?\}")
_KEPT = 0xE100
"""From here on, characters stand for the pieces of a word that are not plain text."""
_BREAK, _HELD = "\ue0f0", "\ue0f1"
"""Where a word is parted, and where it is one though it may be empty."""
_SUM = re.compile(r"[0-9]{1,18}(?:[+-][0-9]{1,18}){0,9}")
_STORED_CODE = re.compile(r"\$\(|`|\$\{")
_WELL_KNOWN = {"HOME": "~", "IFS": " \t\n", "TMPDIR": "/tmp", "BASH": "/bin/bash", "SHELL": "/bin/bash"}  # noqa: S108
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_PRINTED_ZERO = re.compile(r"(?<!\\)((?:\\\\)*\\)0(?=[0-7]{1,3})")
_BYTES = re.compile("[\udc80-\udcff]+")
_ANSI_SIMPLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Value(Struct, frozen=True):
    """One word after expansion."""

    text: str
    known: bool = True
    """False: `text` is a guess, or holds UNKNOWN."""
    glob: bool = False
    process: bool = False
    """It names a process substitution."""


class Piece(Struct, frozen=True):
    """A part of a word: text, or what an expansion brings."""

    text: str
    known: bool = True
    quoted: bool = False
    splits: bool = False
    """It is parted at its blanks."""
    process: bool = False
    listed: tuple[Value, ...] | None = None
    """`"$@"` and `"${a[@]}"` stay the words they are."""


class State:
    """What the commands before have set."""

    def __init__(self, cwd: str) -> None:
        self.variables: dict[str, str] = {}
        self.uncertain: set[str] = set()
        self.arrays: dict[str, tuple[Value, ...]] = {}
        self.converted: set[str] = set()
        """Variables that do not hold what they are given: `declare -l x`."""
        self.aliases: dict[str, str] = {}
        self.copies: dict[str, str] = {}
        """Files that were copied, moved or linked to others, by their new paths."""
        self.positional: tuple[Value, ...] | None = None
        self.cwd: str | None = cwd
        self.possible: set[str] = set()
        """Where it may be, when `cwd` is not known."""
        self.set_on_the_way: set[str] = set()
        """Variables that expansions have set, as `${x:=y}` does."""
        self.conditional = 0
        """Greater than 0 where it is not sure that a command runs, or runs in this very shell."""

    def assign(self, name: str, text: str, *, known: bool = True) -> None:
        """What is not sure stays as a guess, by which danger is still seen."""
        if name in self.converted:
            text, known = UNKNOWN, False
        sure = known and name not in self.uncertain and len(text) <= _MAX_TEXT
        if not sure or (self.conditional and self.variables.get(name) != text):
            self.forget(name)
        self.variables[name] = text[:_MAX_TEXT]

    def forget(self, name: str) -> None:
        self.uncertain.add(name)
        self.arrays.pop(name, None)
        self.variables.pop(name, None)

    def doubt_all(self) -> None:
        """Something ran here that may have set any variable."""
        self.uncertain.update(self.variables, self.arrays)

    def left(self) -> tuple[dict[str, str], set[str], dict[str, tuple[Value, ...]]]:
        """For another program: what is not exported is not set there. Returns what `come_back` needs."""
        kept = dict(self.variables), set(self.uncertain), dict(self.arrays)
        self.doubt_all()
        self.arrays.clear()
        return kept

    def come_back(self, kept: tuple[dict[str, str], set[str], dict[str, tuple[Value, ...]]]) -> None:
        self.variables, self.uncertain, self.arrays = kept

    def copied(self, source: Value, destination: Value) -> None:
        folder = self.cwd or ""
        path = os.path.normpath(os.path.join(folder, destination.text))
        for copy in (path, os.path.join(path, os.path.basename(source.text))):
            self.copies[copy] = source.text

    def move(self, directory: Value | None) -> None:
        """`cd`."""
        if directory is None or not directory.known or directory.glob:
            self.lose_way()
        elif directory.text[:1] in ("/", "~"):
            self.cwd = os.path.normpath(directory.text)
        elif self.cwd is not None:
            self.cwd = os.path.normpath(os.path.join(self.cwd, directory.text))
        else:
            self.possible = {os.path.normpath(os.path.join(folder, directory.text)) for folder in self.possible}

    def lose_way(self, *candidates: str | None) -> None:
        """From here on it is not sure where commands run."""
        self.possible.update(folder for folder in (*candidates, self.cwd) if folder is not None)
        self.cwd = None

    @property
    def folders(self) -> Iterable[str | None]:
        """Where commands may run."""
        return (self.cwd,) if self.cwd is not None else (None, *self.possible)

    # words

    def parted(self, pieces: list[Piece]) -> list[Value]:
        """The fields of a word: what an expansion without quotes brings is parted at its blanks."""
        if not pieces:  # `{,x}` has an empty alternative, of which bash makes no word
            return []
        *before, last = pieces
        if last.listed is not None and not any(piece.text or piece.splits for piece in before):
            return list(last.listed)
        if any(piece.listed is not None for piece in pieces):  # `"a$@b"`: its ends stick to the first and the last
            return [Value(UNKNOWN, known=False)]
        if all(piece.quoted for piece in pieces):
            return [joined(pieces)]
        known, glob = all(piece.known for piece in pieces), False
        text = ""
        for piece in pieces:
            glob = glob or (not piece.quoted and bool(_GLOB.search(piece.text)))
            if not piece.splits:
                text += piece.text + _HELD
            elif "IFS" in self.variables or "IFS" in self.uncertain:
                known, text = known and not piece.text, text + (piece.text and UNKNOWN)
            else:
                text += re.sub(r"[ \t\n]+", _BREAK, piece.text)
        process = any(piece.process for piece in pieces)
        return [Value(field.replace(_HELD, ""), known, glob, process) for field in text.split(_BREAK) if field]

    def expanded(self, name: str, operator: str, argument: Value, *, quoted: bool) -> Piece:
        """`${name<operator><argument>}`"""
        listed = None
        if quoted and operator in ("", "[@]"):
            listed = self.arrays.get(name) if operator else self.positional if name == "@" else None
        text, known = self._expanded(name, operator, argument)
        return Piece(text, known, quoted, splits=not quoted, listed=listed)

    def _expanded(self, name: str, operator: str, argument: Value) -> tuple[str, bool]:
        text, known = self._named(name)
        match operator:
            case "" | ":?" | "?":
                return text, known
            case "[@]" | "[*]" if name in self.arrays:
                return _listing(self.arrays[name])
            case _ if name in self.arrays and re.fullmatch(r"\[[0-9]{1,6}\]", operator):
                return _one_of(self.arrays[name], int(operator[1:-1]))
            case ":-" | "-" | ":=" | "=":
                if known and text:
                    return text, True
                if "=" in operator:
                    self.set_on_the_way.add(name)
                return argument.text, argument.known and known and name not in self.uncertain
            case ":+" | "+":
                return argument.text, argument.known and known and bool(text)
            case _:
                return UNKNOWN, False

    def _named(self, name: str) -> tuple[str, bool]:
        if name in self.variables:
            return self.variables[name], name not in self.uncertain
        if name in self.uncertain:
            return UNKNOWN, False
        if self.positional is not None and name in "@*":
            return _listing(self.positional)
        if self.positional is not None and name.isdigit() and name != "0":
            return _one_of(self.positional, int(name[:9]) - 1)
        if name in "?#$":
            return "0", False
        if name == "PWD" and self.cwd is not None:
            return self.cwd, True
        return _WELL_KNOWN.get(name, UNKNOWN), name in _WELL_KNOWN


def _listing(values: tuple[Value, ...]) -> tuple[str, bool]:
    return " ".join(value.text for value in values), all(value.known for value in values)


def _one_of(values: tuple[Value, ...], index: int) -> tuple[str, bool]:
    """What is not known before it may be no word, or several."""
    if not all(value.known for value in values[:index]):
        return UNKNOWN, False
    return _listing(values[index : index + 1])


def joined(pieces: Iterable[Piece]) -> Value:
    pieces = list(pieces)
    text, process = "".join(piece.text for piece in pieces), any(piece.process for piece in pieces)
    return Value(text, all(piece.known for piece in pieces), process=process)


def calculated(text: str, variables: dict[str, str]) -> Piece:
    """The number, or one in its place: it is neither an option nor a path."""
    for name in re.findall(r"[A-Za-z_]\w*", text):
        if _STORED_CODE.search(variables.get(name, "")):
            raise NotUnderstood("arithmetic would run code kept in a variable")
    text = re.sub(r"[A-Za-z_]\w*", lambda name: variables.get(name[0], "0"), text)
    text = re.sub(r"\s", "", text)
    if not _SUM.fullmatch(text):
        return Piece("0", known=False)
    return Piece(str(sum(map(int, re.findall(r"[+-]?\d+", text)))))


def braces(pieces: list[Piece]) -> Iterable[list[Piece]]:
    """The words that `a{b,c}d` stands for."""
    if not any("{" in piece.text for piece in pieces):
        return [pieces]
    plain = [not piece.quoted and not piece.splits and not piece.process for piece in pieces]
    kept = [Piece(UNKNOWN, known=False, quoted=True)]
    text = ""
    for each, piece in zip(plain, pieces, strict=True):
        text += piece.text if each else chr(_KEPT + len(kept))
        if not each:
            kept.append(piece)
    return [list(_restored(each, kept)) for each in _alternatives(_RANGE.sub(chr(_KEPT), text))]


def _alternatives(text: str) -> list[str]:
    """Outermost braces first; those without a comma of their own are text."""
    found = _first_braces(text)
    if found is None:
        return [text]
    start, commas, end = found
    cuts = [start, *commas, end]
    choices = [text[cut + 1 : after] for cut, after in itertools.pairwise(cuts)]
    rests = _alternatives(text[end + 1 :])
    inner = [each for choice in choices for each in _alternatives(choice)]
    if len(inner) * len(rests) > MAX_FIELDS:
        raise NotUnderstood("its braces expand to too many words")
    return [text[:start] + each + rest for each in inner for rest in rests]


def _first_braces(text: str) -> tuple[int, list[int], int] | None:
    """Where they open, their commas, and where they close."""
    open_: list[tuple[int, list[int]]] = []
    closed: list[tuple[int, list[int], int]] = []
    for index, character in enumerate(text):
        if character == "{":
            open_.append((index, []))
        elif character == "," and open_:
            open_[-1][1].append(index)
        elif character == "}" and open_:
            start, commas = open_.pop()
            if commas:
                closed.append((start, commas, index))
    return min(closed, default=None)


def _restored(text: str, kept: list[Piece]) -> Iterable[Piece]:
    for piece in filter(None, re.split(f"([{chr(_KEPT)}-{chr(_KEPT + len(kept))}])", text)):
        index = ord(piece[0]) - _KEPT
        yield kept[index] if 0 <= index < len(kept) else Piece(piece)


def decode_escapes(text: str) -> str:
    """Backslash escapes, as in `$'…'`."""
    return _BYTES.sub(_character, _ANSI_ESCAPE.sub(_decoded, text))


def decode_printed(text: str) -> str:
    """Backslash escapes, as of `echo -e` and `%b`: a number may have one more zero before it."""
    return decode_escapes(_PRINTED_ZERO.sub(r"\1", text))


def _character(written: re.Match[str]) -> str:
    """Byte by byte."""
    return written[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decoded(escape: re.Match[str]) -> str:
    if hexadecimal := escape[2] or escape[3]:
        number = int(hexadecimal, 16)
        return chr(number) if number <= 0x10FFFF else ""
    if escape[1] or escape[4]:
        byte = int(escape[1], 16) if escape[1] else int(escape[4], 8) & 0xFF
        return chr(byte if byte < 0x80 else 0xDC00 + byte)
    if escape[5]:
        return chr(ord(escape[5].upper()) & 0x1F)
    return _ANSI_SIMPLE.get(escape[6], escape[6] if escape[6] in "\\'\"?" else "\\" + escape[6])
