"""Shell text put in words that tree-sitter's grammar reads as bash does.

Here-documents are taken out, lines that go on are joined, comments are dropped, and a few operators the grammar does
not know become marks. The marks are characters that no command may hold (`analysis` refuses them before).
"""

import re

from msgspec import Struct

MAX_LENGTH = 256 * 1024
MAX_DEPTH = 32
DOCUMENT, HERE_STRING, READ_WRITE, BRACE, QUOTE = "\ue001", "\ue002", "\ue003", "\ue004", "\ue005"
"""`< DOCUMENT 0`: the first here-document. `< HERE_STRING word`, `> READ_WRITE word`. An unquoted `{` that starts no
group. A double quote inside a here-document."""

_NAME = r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9$])|\$(?![@*#?!\[-])"
_COMMANDS = re.compile(
    r"\\.?|'[^']*'?|\$'(?:\\.|[^'\\])*'?|\$\"|[\"`\n)]|\$?\(|\$\{|" + _NAME + r"|(?<![^\s;|&()`])#[^\n]*|"
    r"<<<[ \t]*|<<|<>|(?<![^\s;|&()])\{[A-Za-z_][A-Za-z0-9_]*\}(?=[<>])|\{(?![ \t\n])|\bcase\b|"
    r"(?<!\S)(?:!(?=[ \t])|time(?:[ \t]+-p)?(?:[ \t]+--)?(?=[ \t]+[^-\s]))",
    re.DOTALL,
)
_QUOTED = re.compile(r"\\.?|[\"`]|\$\(|\$\{|" + _NAME, re.DOTALL)
_PARAMETER = re.compile(r"\\.?|[\"'`}]|\$\(|\$\{|[<>]\(|" + _NAME, re.DOTALL)
_MARK = re.compile(r"(-?)[ \t]*((?:'[^'\\\n]*'|\"[^\"\\\n]*\"|\\.|[^ \t\n'\"\\|&;()<>])+)(?![^ \t\n|&;()<>]|[<>]\()")
_GOES_ON = re.compile(r"(?:[^\n]*\\\n)+[^\n]*")
_BEFORE_COMMAND = re.compile(r"(?:^|(?<!\\)[\n;|&({!]|\b(?:if|then|elif|else|while|until|do|time))[ \t]*$")
_CLOSES = {'"': ('"',), ")": ("(", "(("), "}": ("{",)}
_OPENS = {"$(": "(", "(": "(", "${": "{", '"': '"', '$"': '"'}


class NotUnderstood(Exception):
    """The text is not surely bash as we know it."""


class Document(Struct, frozen=True):
    """A here-document."""

    text: str
    literal: bool


class Preparer:
    def __init__(self, text: str, documents: list[Document], depth: int = 0) -> None:
        self._text = text
        self._depth = depth
        self._documents = documents
        self._pending: list[tuple[str, bool, str]] = []
        self._open: list[str] = []
        self._pieces: list[str] = []
        self._position = 0

    def prepared(self, *, document: bool = False) -> str:
        """`document`: the text is a here-document's, in which only expansions count."""
        text, pieces = self._text, self._pieces
        base = '""' if document else ""
        while True:
            context = self._open[-1] if self._open else base
            pattern = _QUOTED if context[:1] == '"' else _PARAMETER if context == "{" else _COMMANDS
            found = pattern.search(text, self._position)
            if found is None:
                break
            pieces.append(text[self._position : found.start()])
            self._position = found.end()
            self._token(found[0], context)
        if self._open:
            raise NotUnderstood(f"a {self._open[-1]} is not closed")
        pieces.append(text[self._position :])
        self._take_documents()
        return "".join(pieces)

    def _token(self, piece: str, context: str) -> None:
        stack = self._open
        if piece[0] == "#" and "".join(self._pieces[-3:])[-1:] not in ("", *" \t\n;|&("):
            raise NotUnderstood("# stands where it may start no comment")
        if piece == "\\\n" or piece[0] == "#":
            return
        if piece[0] == "\\":
            self._escape(piece if len(piece) > 1 else "\\\\", context)
        elif piece == '"' and context == '""':
            self._pieces.append(QUOTE)
        elif context in _CLOSES.get(piece, ()):
            stack.pop()
            self._pieces.append(piece)
        elif piece == "`":
            self._backticks(quoted='"' in context)
        elif piece in _OPENS and not (piece == "(" and context == "{"):
            if len(stack) + self._depth >= MAX_DEPTH:
                raise NotUnderstood("it is nested too deeply")
            arithmetic = piece == "(" and self._text[self._position - 2 : self._position] == "(("
            stack.append("((" if arithmetic else _OPENS[piece])
            self._pieces.append(piece.removeprefix("$") if piece == '$"' else piece)
        else:
            self._other(piece, context)

    def _escape(self, piece: str, context: str) -> None:
        """At a word's start the grammar takes the blanks before it for a part of it."""
        starts = context in ("", "(", "((") and "".join(self._pieces[-2:])[-1:] in ("", *" \t\n;|&()<>")
        starts = starts or (context in ("", "(") and piece[1] in " \t")
        self._pieces.append(piece if not starts else '"\'"' if piece[1] == "'" else f"'{piece[1]}'")

    def _other(self, piece: str, context: str) -> None:
        if piece == "<<":
            self._document()
        elif piece[:4] in ("!", "time") and _BEFORE_COMMAND.search("".join(self._pieces[-2:])[-16:]):
            pass  # what comes runs either way
        elif piece == "\n":
            self._pieces.append(piece)
            self._take_documents()
        elif piece == "case" and context in ("(", "((") and any(opened in '"{' for opened in self._open):
            raise NotUnderstood("a case stands inside quotes")
        elif piece == "'" and context == "{":
            self._single(quoted='"' in self._open)
        elif piece in ("<(", ">("):
            raise NotUnderstood("a process substitution stands inside a ${…}")
        elif piece == "$":
            if self._text.startswith("\\\n", self._position):
                raise NotUnderstood("a line is broken in the middle of an expansion")
            self._pieces.append("\\$")
        elif re.fullmatch(r"\$(?:\w+|\$)", piece):
            self._pieces.append("${" + piece[1:] + "}")
        elif piece[-1] != "'" or len(piece) - (piece[0] == "$") < 2:
            self._operator(piece)
        else:
            self._pieces.append(piece)

    def _operator(self, piece: str) -> None:
        if piece[0] in "'$":
            raise NotUnderstood("a single quote is not closed")
        if piece.startswith("<<<"):
            self._pieces.append("<" + HERE_STRING)
        elif piece == "<>":
            self._pieces.append(">" + READ_WRITE)
        elif piece == "{":
            self._pieces.append(BRACE)
        elif piece[0] != "{":
            self._pieces.append(piece)

    def _backticks(self, *, quoted: bool) -> None:
        """As `$(…)`."""
        inside = re.compile(r"((?:\\.|[^`\\])*)`", re.DOTALL).match(self._text, self._position)
        if inside is None or self._depth >= MAX_DEPTH:
            raise NotUnderstood("a backtick is not closed")
        self._position = inside.end()
        plain = re.sub(r'\\([\\$`"])' if quoted else r"\\([\\$`])", r"\1", inside[1])
        inner = Preparer(plain, self._documents, self._depth + len(self._open) + 1).prepared()
        self._pieces.append(f"$( {inner})")

    def _single(self, *, quoted: bool) -> None:
        """Inside `${…}`: it quotes, unless double quotes stand around."""
        close = self._text.find("'", self._position)
        if quoted:
            self._pieces.append("'")
        elif close < 0:
            raise NotUnderstood("a single quote is not closed")
        else:
            self._pieces.append(self._text[self._position - 1 : close + 1])
            self._position = close + 1

    def _document(self) -> None:
        text = self._text
        if "((" in self._open:  # arithmetic, in which the grammar knows no shifts
            self._pieces.append("<")
            return
        mark = _MARK.match(text, self._position)
        if mark is None or "$" in mark[2] or "`" in mark[2]:
            raise NotUnderstood("the end mark of a here-document is not plain text")
        self._position = mark.end()
        delimiter = re.sub(r"['\"\\]", "", mark[2])
        self._pieces.append(f"<{DOCUMENT}{len(self._documents) + len(self._pending)}")
        self._pending.append((delimiter, delimiter != mark[2], "\\t*" if mark[1] else ""))

    def _take_documents(self) -> None:
        for delimiter, literal, tabs in self._pending:
            end = re.compile(rf"^{tabs}{re.escape(delimiter)}$\n?", re.MULTILINE).search(self._text, self._position)
            body = self._text[self._position : end.start() if end else None]
            if not literal and _ends_earlier_or_later(body, delimiter):
                raise NotUnderstood("a line of a here-document goes on in the next")
            self._documents.append(Document(re.sub("(?m)^\t+", "", body) if tabs else body, literal))
            self._position = end.end() if end else len(self._text)
        self._pending.clear()


def _ends_earlier_or_later(body: str, delimiter: str) -> bool:
    """Where lines that go on are joined, the end mark is another line than the one that was found."""
    joined = (re.sub(r"\\\n\t*", "", line[0]).lstrip("\t") for line in _GOES_ON.finditer(body))
    return body.endswith("\\\n") or any(line == delimiter for line in joined)
