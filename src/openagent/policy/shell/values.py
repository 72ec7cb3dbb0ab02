"""What words stand for when the command runs, as far as that can be known beforehand."""

import os.path
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from openagent.policy.paths import UNKNOWN
from openagent.policy.shell.preparing import NotUnderstood
from openagent.policy.shell.syntax import Command, Part, Script, Word, plain

FROM_NETWORK = "\1"
"""Beside UNKNOWN: it comes off the network."""
SENSITIVE = "\2"
"""Beside UNKNOWN: it holds keys, tokens or the environment."""

MAX_FIELDS = 128
_MAX_TEXT = 64 * 1024
_NEEDS_CARE = re.compile(r"[*?\[{~]")
_GLOB = re.compile(r"[*?]|\[[^\]]+\]")
_RANGE = re.compile(r"\{-?\w+\.\.-?\w+(?:\.\.-?\d+)?\}")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_KEPT = 0xE100
"""From here on, characters stand for the parts of a word that are not plain text."""
_BREAK, _HELD = "\ue0f0", "\ue0f1"
"""Where a word is parted, and where it is one though it may be empty."""
_SUM = re.compile(r"\d+(?:[+-]\d+){0,9}")
_STORED_CODE = re.compile(r"\$\(|`|\$\{")


class Value(Struct, frozen=True):
    """One word after expansion."""

    text: str
    known: bool = True
    """False: `text` is a guess, or holds UNKNOWN."""
    glob: bool = False
    process: bool = False
    """It names a process substitution."""


class State:
    """What the commands before have set."""

    def __init__(self, cwd: str) -> None:
        self.variables: dict[str, str] = {}
        self.uncertain: set[str] = set()
        self.arrays: dict[str, tuple[Value, ...]] = {}
        self.functions: dict[str, Command] = {}
        self.aliases: dict[str, str] = {}
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
        sure = known and name not in self.uncertain and len(text) <= _MAX_TEXT
        if not sure or (self.conditional and self.variables.get(name) != text):
            self.forget(name)
        self.variables[name] = text[:_MAX_TEXT]

    def forget(self, name: str) -> None:
        self.uncertain.add(name)
        self.arrays.pop(name, None)
        self.variables.pop(name, None)

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


Substitute = Callable[[Script], tuple[str, bool]]
"""Looks at the commands of a substitution: their output, and whether it is known."""


class Expander:
    def __init__(self, state: State, substitute: Substitute) -> None:
        self._state = state
        self._substitute = substitute

    def fields(self, words: tuple[Word, ...]) -> list[Value]:
        values: list[Value] = []
        for word in words:
            first = word[0]
            if len(word) == 1 and first.kind == "text" and (first.quoted or not _NEEDS_CARE.search(first.text)):
                values.append(Value(first.text))
            else:
                for parts in _braces(word):
                    values.extend(self._split(parts))
            if len(values) > MAX_FIELDS * 8:
                raise NotUnderstood("it has too many words")
        return values

    def single(self, word: Word) -> Value:
        """A word that is not split: of an assignment, a redirection or a here-document."""
        pieces = [self._part(part) for part in word]
        text, known = "".join(text for text, _ in pieces), all(known for _, known in pieces)
        return Value(text, known, process=any(part.kind == "process" for part in word))

    def _split(self, parts: Word) -> list[Value]:
        """What an expansion without quotes brings is parted at its blanks."""
        known, glob, text = True, False, ""
        *quotes, last = parts
        listed = self._listed(last) if all(part.kind == "text" and not part.text for part in quotes) else None
        if listed is not None:
            return list(listed)
        for part in parts:
            piece, piece_known = self._part(part)
            known = known and piece_known
            glob = glob or (not part.quoted and bool(_GLOB.search(piece)))
            if part.quoted or part.kind not in ("variable", "command"):
                text += piece + _HELD
            else:
                known = known and "IFS" not in self._state.variables and "IFS" not in self._state.uncertain
                text += re.sub(r"\s+", _BREAK, piece)
        process = any(part.kind == "process" for part in parts)
        return [Value(field.replace(_HELD, ""), known, glob, process) for field in text.split(_BREAK) if field]

    def _listed(self, variable: Part) -> tuple[Value, ...] | None:
        """`"$@"` and `"${a[@]}"` stay the words they are."""
        if variable.kind != "variable" or not variable.quoted:
            return None
        if variable.text == "@" and not variable.operator:
            return self._state.positional
        return self._state.arrays.get(variable.text) if variable.operator == "[@]" else None

    def _part(self, part: Part) -> tuple[str, bool]:
        match part.kind:
            case "text":
                return part.text, True
            case "variable":
                return self._variable(part)
            case "command":
                output, known = self._substitute(part.script)
                return output.rstrip("\n"), known
            case "process":
                output, _ = self._substitute(part.script)
                return "/dev/fd/63" + (FROM_NETWORK if FROM_NETWORK in output else ""), True
            case "arithmetic":
                return self._arithmetic(part), True

    def _arithmetic(self, part: Part) -> str:
        """The number, or one in its place: it is neither an option nor a path."""
        text = self.single(part.parts).text
        for name in re.findall(r"[A-Za-z_]\w*", text):
            if _STORED_CODE.search(self._state.variables.get(name, "")):
                raise NotUnderstood("arithmetic would run code kept in a variable")
        text = re.sub(r"[A-Za-z_]\w*", lambda name: self._state.variables.get(name[0], "0"), text)
        text = re.sub(r"\s", "", text)
        return str(sum(map(int, re.findall(r"[+-]?\d+", text)))) if _SUM.fullmatch(text) else "0"

    def _variable(self, variable: Part) -> tuple[str, bool]:
        text, known = self._named(variable.text)
        operator = variable.operator
        if operator in ("", ":?", "?"):
            return text, known
        if operator in ("[@]", "[*]") and (elements := self._state.arrays.get(variable.text)) is not None:
            return " ".join(element.text for element in elements), all(element.known for element in elements)
        argument = self.single(variable.parts)
        if operator in (":-", "-", ":=", "="):
            if known and text:
                return text, True
            if "=" in operator:
                self._state.set_on_the_way.add(variable.text)
            return argument.text, argument.known and known and variable.text not in self._state.uncertain
        if operator in (":+", "+"):
            return argument.text, argument.known and known and bool(text)
        return UNKNOWN, False

    def _named(self, name: str) -> tuple[str, bool]:
        state = self._state
        if name in state.variables:
            return state.variables[name], name not in state.uncertain
        if name in state.uncertain:
            return UNKNOWN, False
        if name.isdigit() or name in ("@", "*"):
            return self._positional(name)
        if name in "?#$":
            return "0", True
        if name == "PWD" and state.cwd is not None:
            return state.cwd, True
        return _WELL_KNOWN.get(name, UNKNOWN), name in _WELL_KNOWN

    def _positional(self, name: str) -> tuple[str, bool]:
        given = self._state.positional
        if given is None:
            return UNKNOWN, False
        if name in ("@", "*"):
            return " ".join(value.text for value in given), all(value.known for value in given)
        index = int(name) - 1
        if 0 <= index < len(given):
            return given[index].text, given[index].known
        return "", index >= 0


_WELL_KNOWN = {"HOME": "~", "IFS": " \t\n", "TMPDIR": "/tmp", "BASH": "/bin/bash", "SHELL": "/bin/bash"}  # noqa: S108


def _braces(parts: Word) -> list[Word]:
    if not any(part.kind == "text" and not part.quoted and "{" in part.text for part in parts):
        return [parts]
    kept: list[Part] = [Part("variable", "*range*", quoted=True)]
    text = ""
    for part in parts:
        if part.kind == "text" and not part.quoted:
            text += part.text
        else:
            text += chr(_KEPT + len(kept))
            kept.append(part)
    return [tuple(_restored(alternative, kept)) for alternative in _alternatives(_RANGE.sub(chr(_KEPT), text))]


def _alternatives(text: str) -> list[str]:
    """Of `a{b,c}d`, innermost braces first."""
    pending, done = [text], list[str]()
    while pending:
        text = pending.pop(0)
        if found := _BRACES.search(text):
            choices = found[1].split(",")
            pending.extend(text[: found.start()] + choice + text[found.end() :] for choice in choices)
        else:
            done.append(text)
        if len(pending) + len(done) > MAX_FIELDS:
            raise NotUnderstood("its braces expand to too many words")
    return done


def _restored(text: str, kept: list[Part]) -> Iterable[Part]:
    for piece in filter(None, re.split(f"([{chr(_KEPT)}-{chr(_KEPT + len(kept))}])", text)):
        index = ord(piece[0]) - _KEPT
        yield kept[index] if 0 <= index < len(kept) else plain(piece)
