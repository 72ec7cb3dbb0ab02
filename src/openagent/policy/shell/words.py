"""Words: quotes, escapes and expansions.

The reader is conservative: what it does not surely understand raises `NotUnderstood`, and the caller asks a person.
"""

import re

from openagent.policy.shell.syntax import (
    Arithmetic,
    Part,
    ProcessSubstitution,
    Script,
    Substitution,
    Text,
    Variable,
    Word,
)

MAX_DEPTH = 32


class NotUnderstood(Exception):
    """The text is not surely bash as we know it."""


_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=@%+,\-]+(?=[ \t\n|&;()<>]|$)")
_RUN = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
_DOUBLE_RUN = re.compile(r"[^\"\\$`}']+")
_PROCESS_SUBSTITUTION = re.compile(r"[<>]\(")
_CALCULATION = re.compile(r"[\w \t+\-*/%<>=!&|^~?:,()\[\]#]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9?#$!@*-]")
_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*?$!#-])(\[[^\]$`]*\])?(:?[-=?+]|##?|%%?|//?|\^\^?|,,?|:)?")
_LENGTH = re.compile(r"#(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*])(?:\[[^\]$`]*\])?\}")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_SIMPLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class WordReader:
    """Reads words off a text from a position; the grammar (`GrammarReader`) adds the commands inside them."""

    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise NotUnderstood("it is nested too deeply")
        self.text = text
        self.position = 0
        self.end = len(text)
        self.depth = depth

    def substituted_script(self) -> Script:
        """The commands up to the closing parenthesis, which is consumed."""
        raise NotUnderstood("commands inside words need the grammar")

    def inner(self, text: str) -> "WordReader":
        return type(self)(text, self.depth + 1)

    def whole_script(self) -> Script:
        raise NotUnderstood("commands inside words need the grammar")

    def word(self) -> Word:
        if plain := _PLAIN_WORD.match(self.text, self.position):
            self.position = plain.end()
            return Word((Text(plain[0]),))
        parts: list[Part] = []
        while self.position < self.end:
            start = self.position
            self._unquoted(parts)
            if self.position == start:
                break
        if not parts:
            raise NotUnderstood("a word was expected")
        return Word(tuple(parts))

    def _unquoted(self, parts: list[Part]) -> None:
        """One piece of an unquoted word; stays in place at a delimiter."""
        text = self.text
        if run := _RUN.match(text, self.position):
            self.position = run.end()
            parts.append(Text(run[0]))
            return
        character = text[self.position]
        if character == "\\":
            self._escape(parts)
        elif character == "'":
            parts.append(Text(self._single_quoted(), quoted=True))
        elif character == '"':
            self.position += 1
            parts.append(Text("", quoted=True))
            self.parts_until('"', parts, quoted=True)
        elif character == "$":
            self._dollar(parts, quoted=False)
        elif character == "`":
            parts.append(self._backticks(quoted=False))
        elif character in "<>" and text.startswith("(", self.position + 1):
            self.position += 2
            script = self._nested_script()
            if not script:
                raise NotUnderstood("a process substitution is empty")
            parts.append(ProcessSubstitution(script))

    def _escape(self, parts: list[Part]) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        self.position += 2
        if following != "\n":
            parts.append(Text(following or "\\", quoted=True))

    def _single_quoted(self) -> str:
        close = self.text.find("'", self.position + 1)
        if close < 0:
            raise NotUnderstood("a single quote is not closed")
        quoted = self.text[self.position + 1 : close]
        self.position = close + 1
        return quoted

    def parts_until(self, closing: str, parts: list[Part], *, quoted: bool) -> None:
        """Text with expansions up to `closing`, which is consumed; all of the text when `closing` is empty."""
        text = self.text
        while self.position < self.end:
            if run := _DOUBLE_RUN.match(text, self.position):
                self.position = run.end()
                if not quoted and _PROCESS_SUBSTITUTION.search(run[0]):
                    raise NotUnderstood("a process substitution stands inside a ${…}")
                parts.append(Text(run[0], quoted=quoted))
                continue
            character = text[self.position]
            if character == closing:
                self.position += 1
                return
            if character == "\\":
                self._quoted_escape(parts, quoted)
            elif character == "$":
                self._dollar(parts, quoted=quoted)
            elif character == "`":
                parts.append(self._backticks(quoted=quoted))
            elif character == '"' and closing:
                self.position += 1
                self.parts_until('"', parts, quoted=True)
            elif character == "'" and not quoted:
                parts.append(Text(self._single_quoted(), quoted=True))
            else:
                self.position += 1
                parts.append(Text(character, quoted=quoted))
        if closing:
            raise NotUnderstood(f"a {closing} is missing")

    def _quoted_escape(self, parts: list[Part], quoted: bool) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        self.position += 2
        if following == "\n":
            return
        if quoted and following not in '$`"\\':
            parts.append(Text("\\" + following, quoted=True))
        else:
            parts.append(Text(following or "\\", quoted=True))

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        text = self.text
        following = text[self.position + 1 : self.position + 2]
        if following == "'" and not quoted:
            self.position += 1
            parts.append(Text(self._ansi_quoted(), quoted=True))
        elif following == '"' and not quoted:
            self.position += 2
            self.parts_until('"', parts, quoted=True)
        elif following == "(":
            parts.append(self._parenthesis(quoted))
        elif following == "{":
            parts.append(self._braced(quoted))
        elif following == "[":
            raise NotUnderstood("$[…] is an obsolete form")
        elif name := _NAME.match(text, self.position + 1):
            self.position = name.end()
            parts.append(Variable(name[0], quoted=quoted))
        else:
            self.position += 1
            parts.append(Text("$", quoted=True))

    def _ansi_quoted(self) -> str:
        position = self.position + 1
        while True:
            close = self.text.find("'", position)
            if close < 0:
                raise NotUnderstood("a single quote is not closed")
            before = self.text[self.position + 1 : close]
            if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
                break
            position = close + 1
        self.position = close + 1
        return decode_escapes(before)

    def _parenthesis(self, quoted: bool) -> Part:
        if self.text.startswith("((", self.position + 1):
            inside = self.arithmetic_text(self.position + 3)
            if inside is not None:
                return Arithmetic(self.arithmetic_parts(inside))
        self.position += 2
        return Substitution(self._nested_script(), quoted=quoted)

    def arithmetic_text(self, start: int) -> str | None:
        """What stands between `((` and `))`, which is consumed; None when it is not arithmetic."""
        open_parentheses = 0
        for found in re.finditer(r"[()]", self.text[start:]):
            if found[0] == "(":
                open_parentheses += 1
            elif open_parentheses:
                open_parentheses -= 1
            else:
                close = start + found.start()
                if not self.text.startswith("))", close):
                    return None
                self.position = close + 2
                return self.text[start:close]
        return None

    def arithmetic_parts(self, text: str) -> tuple[Part, ...]:
        """What is no arithmetic bash may run as commands in a subshell."""
        parts = self.parts_of(text)
        if "\\" in text or not all(_CALCULATION.fullmatch(part.text) for part in parts if isinstance(part, Text)):
            raise NotUnderstood("arithmetic holds something else")
        return parts

    def parts_of(self, text: str) -> tuple[Part, ...]:
        """The expansions inside arithmetic or a here-document."""
        if "$" not in text and "`" not in text and "\\" not in text:
            return (Text(text, quoted=True),)
        parts: list[Part] = []
        self.inner(text).parts_until("", parts, quoted=True)
        return tuple(parts)

    def _nested_script(self) -> Script:
        if self.depth >= MAX_DEPTH:
            raise NotUnderstood("it is nested too deeply")
        self.depth += 1
        script = self.substituted_script()
        self.depth -= 1
        return script

    def _backticks(self, *, quoted: bool) -> Substitution:
        position = self.position + 1
        while position < self.end and self.text[position] != "`":
            position += 2 if self.text[position] == "\\" else 1
        if position >= self.end:
            raise NotUnderstood("a backtick is not closed")
        inside = re.sub(r'\\([\\$`"])' if quoted else r"\\([\\$`])", r"\1", self.text[self.position + 1 : position])
        self.position = position + 1
        return Substitution(self.inner(inside).whole_script(), quoted=quoted)

    def _braced(self, quoted: bool) -> Part:
        self.position += 2
        if length := _LENGTH.match(self.text, self.position):
            self.position = length.end()
            return Arithmetic(())
        parameter = _PARAMETER.match(self.text, self.position)
        if parameter is None:
            raise NotUnderstood("a ${…} is of a form that is not followed")
        if parameter[1] == "!" and not self.text.startswith("}", parameter.end()):
            raise NotUnderstood("it names a variable through another variable")
        name, subscript, operator = parameter[1], parameter[2] or "", parameter[3] or ""
        self.position = parameter.end()
        if not operator and not self.text.startswith("}", self.position):
            raise NotUnderstood("a ${…} is of a form that is not followed")
        argument: list[Part] = []
        if self.depth >= MAX_DEPTH:
            raise NotUnderstood("it is nested too deeply")
        self.depth += 1
        self.parts_until("}", argument, quoted=quoted)
        self.depth -= 1
        return Variable(name, operator=subscript + operator, argument=tuple(argument), quoted=quoted)


def decode_escapes(text: str) -> str:
    """Backslash escapes, as in `$'…'`."""
    return _ANSI_ESCAPE.sub(_decode_ansi, text)


def _decode_ansi(escape: re.Match[str]) -> str:
    hexadecimal = escape[1] or escape[2] or escape[3]
    if hexadecimal:
        number = int(hexadecimal, 16)
        return chr(number) if number <= 0x10FFFF else ""
    if escape[4]:
        return chr(int(escape[4], 8) & 0xFF)
    if escape[5]:
        return chr(ord(escape[5].upper()) & 0x1F)
    return _ANSI_SIMPLE.get(escape[6], escape[6] if escape[6] in "\\'\"?" else "\\" + escape[6])
