"""A change, laid out for the eye: line numbers, changed words, syntax, and lines broken where the screen ends.

It knows no colours of any screen: each client paints what is told here. What colours code loads with the first diff.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from openagent.client.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Literal

    Kind = Literal["file", "gap", "same", "added", "removed"]

_TAB = 4
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FOR_MACHINES = (
    *("index ", "old mode ", "new mode ", "new file mode ", "deleted file mode "),
    *("similarity index ", "rename from ", "rename to ", "\\ No newline"),
)
_NOTHING = "/dev/null"
_BOTH_NUMBERS = 60
"""Columns from which the old and the new line numbers both have their place."""
_WORD = re.compile(r"\w+|\s+|.")
_ALIKE = 0.34
_KEPT = 0.6
"""Two lines are one that was changed, when that much of both is the same, or that much of the shorter one."""
_LONGEST_COMPARED = 600
_MOST_COMPARED = 80
"""Lines of a block that are compared with each other, to find those that belong together."""
_LONGEST_COLOURED = 200_000
_LONGEST_LINE = 2_000
"""Code with longer lines is written by machines; it is not worth the time that colouring it takes."""


class Piece(NamedTuple):
    text: str
    look: str = ""
    """number, sign, name, count, quiet, or what the code is: keyword, string, number, comment, name, doc"""
    changed: bool = False
    """A word that is another in the other version of the line."""


class Line(NamedTuple):
    """One line of the screen."""

    kind: Kind
    pieces: list[Piece]


class Row(NamedTuple):
    """One line of a diff."""

    kind: Kind
    text: str
    old: int = 0
    new: int = 0


class Counted(NamedTuple):
    path: str
    added: int
    removed: int


def change_in(arguments: Mapping[str, Any]) -> str:
    """What a call that edits would change, as far as its arguments tell: old lines out, new lines in."""
    if diff := str(arguments.get("patch") or arguments.get("diff") or ""):
        return diff
    given: Sequence[Any] = arguments.get("edits") or [arguments]
    lines: list[str] = []
    for each in given:
        if hasattr(each, "get"):
            lines += [f"-{line}" for line in str(each.get("old") or "").splitlines()]
            lines += [f"+{line}" for line in str(each.get("new") or each.get("content") or "").splitlines()]
    return "\n".join(lines)


def looks_like_diff(text: str) -> bool:
    return text.startswith(("--- ", "diff --git ", "@@ ", "*** Begin Patch"))


def counted(patch: str) -> list[Counted]:
    """The files a diff changes, with how many lines."""
    found: list[list[Any]] = []
    for row in read(patch):
        if row.kind == "file" or not found:
            found.append([row.text if row.kind == "file" else "", 0, 0])
        found[-1][1] += row.kind == "added"
        found[-1][2] += row.kind == "removed"
    return [Counted(*each) for each in found]


def read(patch: str) -> list[Row]:
    """Also one that has no header, or is no good diff: nothing of it is left out."""
    reader = _Reader()
    lines = clean(patch).removesuffix("\n").split("\n")
    for place, line in enumerate(lines):
        following = lines[place + 1 : place + 3]
        # Models count badly: whatever a hunk has still to come, this begins another file.
        if line.startswith("--- ") and len(following) == 2 and following[1].startswith("@@ -"):
            reader.end_hunk()
        reader.take(line)
    return reader.rows


class _Reader:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._old = self._new = 0
        """The next line's numbers; 0 where the diff does not say."""
        self._old_left = self._new_left = 0
        """Lines that the hunk has still to come: within it, `--- x` is a line that goes."""
        self._from = ""
        self._newest = 0

    def end_hunk(self) -> None:
        self._old_left = self._new_left = 0

    def take(self, line: str) -> None:
        if hunk := _HUNK.match(line):
            self._hunk(hunk)
        elif self._old_left > 0 or self._new_left > 0:
            self._within(line)
        elif line.startswith(("--- ", "diff --git ")):
            self._from = _path(line[4:]) if line.startswith("--- ") else ""
        elif line.startswith("+++ "):
            path = _path(line[4:])
            self._file(self._from if path == _NOTHING else path, gone=path == _NOTHING, new=self._from == _NOTHING)
        elif line.startswith("*** "):
            self._section(line[4:])
        elif line.startswith("@@"):
            self._gap(line[2:].strip(" @"))
        elif not line.startswith(_FOR_MACHINES) and (line or self.rows):
            self._within(line)

    def _file(self, path: str, *, gone: bool = False, new: bool = False, moved: str = "") -> None:
        self._old = self._new = self._newest = 0
        told = " (deleted)" if gone else " (new file)" if new else f" → {moved}" if moved else ""
        self.rows.append(Row("file", path + told))

    def _section(self, line: str) -> None:
        """Of a patch in the models' own form, which numbers nothing."""
        action, _, path = line.partition(" File: ")
        if path:
            self._file(path.strip(), gone=action == "Delete", new=action == "Add")
            if action == "Add":
                self._new = 1
        elif line.startswith("Move to: ") and self.rows:
            self.rows[-1] = Row("file", f"{self.rows[-1].text} → {line[9:].strip()}")

    def _hunk(self, hunk: re.Match[str]) -> None:
        old, old_count, new, new_count, section = hunk.groups()
        self._old, self._new = int(old), int(new)
        self._old_left = int(old_count) if old_count is not None else 1
        self._new_left = int(new_count) if new_count is not None else 1
        if self._newest or self._new > 1:
            self._gap(section)

    def _gap(self, section: str) -> None:
        if not self.rows or self.rows[-1].kind != "gap":
            self.rows.append(Row("gap", section.strip()))

    def _within(self, line: str) -> None:
        sign, text = line[:1], line[1:].expandtabs(_TAB)
        if sign == "+":
            self.rows.append(Row("added", text, 0, self._new))
            self._step(new=1)
        elif sign == "-":
            self.rows.append(Row("removed", text, self._old, 0))
            self._step(old=1)
        elif sign == "\\":
            return
        else:
            self.rows.append(Row("same", text if sign == " " else line.expandtabs(_TAB), self._old, self._new))
            self._step(old=1, new=1)

    def _step(self, old: int = 0, new: int = 0) -> None:
        self._old_left = max(self._old_left - old, 0)
        self._new_left = max(self._new_left - new, 0)
        self._old += old if self._old else 0
        self._new += new if self._new else 0
        self._newest = self._new or 1


def _path(name: str) -> str:
    name = name.split("\t", maxsplit=1)[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name


# Laid out


def laid_out(patch: str, width: int, *, path: str = "", headed: bool = True, most: int = 0) -> list[Line]:
    """`path` is that of a change without a header. `headed`: with a line for each file. `most`: so many lines of the
    screen, and below them how much of the change is left."""
    rows = read(patch)
    whole = len(rows)
    rows = rows[: most + 1] if most else rows  # the rest is neither compared nor coloured
    digits = len(str(max((max(row.old, row.new) for row in rows), default=0)))
    numbered = any(row.old or row.new for row in rows)
    gutter = _Gutter(digits if numbered else 0, both=width >= _BOTH_NUMBERS)
    room = max(width - gutter.width, 8)
    totals = dict(zip(_headers(rows), counted(patch), strict=False))
    looks = _looks(rows, path)
    changed = _changed_words(rows)
    lines: list[Line] = []
    for place, row in enumerate(rows):
        if row.kind == "file":
            if headed:
                lines.append(Line("file", _header(totals[place])))
        elif row.kind == "gap":
            lines.append(Line("gap", [Piece(gutter.gap), Piece(f"⋯ {row.text}".rstrip()[:room], "quiet")]))
        else:
            pieces = _pieces(row.text, looks.get(place, []), changed.get(place, []))
            for number, part in enumerate(_broken(pieces, room)):
                lines.append(Line(row.kind, [*gutter.of(row, first=number == 0), *part]))
        if most and len(lines) >= most and (len(lines) > most or place + 1 < whole):
            left = whole - place - (len(lines) == most)
            told = f"⋯ {left:,} more line{'s' if left > 1 else ''}"
            return [*lines[:most], Line("gap", [Piece(gutter.gap), Piece(told, "quiet")])]
    return lines


def _headers(rows: Sequence[Row]) -> list[int]:
    """Where each file begins, as `counted` finds them."""
    found = [place for place, row in enumerate(rows) if row.kind == "file"]
    return found if rows and rows[0].kind == "file" else [-1, *found]


def _header(file: Counted) -> list[Piece]:
    counts = [f"+{file.added}" if file.added else "", f"−{file.removed}" if file.removed else ""]
    return [Piece(file.path, "name"), *(Piece(f" {count}", "count") for count in counts if count)]


class _Gutter:
    """The line numbers and the sign: both numbers where there is room, else the one that the row has."""

    def __init__(self, digits: int, *, both: bool) -> None:
        self._digits = digits
        self._both = both
        columns = (2 if both else 1) if digits else 0
        self._blank = " " * (columns * (digits + 1))
        self.width = len(self._blank) + 2
        self.gap = self._blank

    def of(self, row: Row, *, first: bool) -> list[Piece]:
        sign = {"added": "+", "removed": "-"}.get(row.kind, " ")
        if not first:
            return [Piece(self._blank, "number"), Piece("  ", "sign")]
        numbers = (row.old, row.new) if self._both else (row.new or row.old,)
        written = "".join(f"{number or '':>{self._digits}} " for number in numbers) if self._digits else ""
        return [Piece(written, "number"), Piece(f"{sign} ", "sign")]


def _pieces(text: str, looks: Sequence[tuple[int, int, str]], changed: Sequence[tuple[int, int]]) -> list[Piece]:
    """Cut where the look changes, or where a changed word begins or ends."""
    cuts = sorted({0, len(text), *(place for span in (*looks, *changed) for place in span[:2])})
    pieces: list[Piece] = []
    look_at = mark_at = 0
    for begin, end in itertools.pairwise(cuts):
        while look_at < len(looks) and looks[look_at][1] <= begin:
            look_at += 1
        while mark_at < len(changed) and changed[mark_at][1] <= begin:
            mark_at += 1
        look = looks[look_at][2] if look_at < len(looks) and looks[look_at][0] <= begin else ""
        marked = mark_at < len(changed) and changed[mark_at][0] <= begin
        pieces.append(Piece(text[begin:end], look, marked))
    return pieces


def _broken(pieces: Sequence[Piece], room: int) -> Iterator[list[Piece]]:
    """A line that is too long goes on in the next, broken at a space where one is near."""
    text = "".join(piece.text for piece in pieces)
    ends = list(_ends(text, room))
    if len(ends) == 1:
        yield list(pieces)
        return
    place, line, ends_at = 0, list[Piece](), iter(ends)
    end = next(ends_at)
    for piece in pieces:
        rest = piece.text
        while place + len(rest) > end:
            if head := rest[: end - place]:
                line.append(piece._replace(text=head))
            yield line
            rest, place, line = rest[end - place :], end, []
            end = next(ends_at)
        if rest:
            line.append(piece._replace(text=rest))
            place += len(rest)
    yield line


def _ends(text: str, room: int) -> Iterator[int]:
    if text.isascii() and len(text) <= room:
        yield len(text)
        return
    width, space, begin = 0, 0, 0
    for place, character in enumerate(text):
        columns = 1 if character.isascii() else cells(character)
        if width + columns > room:
            end = space if space > begin + room // 2 else place
            yield end
            width = sum(cells(each) for each in text[end:place])
            begin = space = end
        width += columns
        if character == " ":
            space = place + 1
    yield len(text)


def cells(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(each) in ("Mn", "Me", "Cf") else 2 if east_asian_width(each) in ("W", "F") else 1 for each in text
    )


# Which words are others


def _changed_words(rows: Sequence[Row]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    place = 0
    while place < len(rows):
        removed = _run(rows, place, "removed")
        added = _run(rows, removed.stop, "added")
        if len(removed) and len(added) and len(removed) <= _MOST_COMPARED and len(added) <= _MOST_COMPARED:
            for old, new in _pairs(rows, removed, added):
                found[old], found[new] = _differences(rows[old].text, rows[new].text)
        place = max(added.stop, place + 1)
    return found


def _run(rows: Sequence[Row], place: int, kind: str) -> range:
    end = place
    while end < len(rows) and rows[end].kind == kind:
        end += 1
    return range(place, end)


def _pairs(rows: Sequence[Row], removed: range, added: range) -> Iterator[tuple[int, int]]:
    """Lines that are versions of each other, in order."""
    if len(removed) == len(added):
        yield from ((old, new) for old, new in zip(removed, added, strict=True) if _alike(rows[old], rows[new]))
        return
    begin = added.start
    for old in removed:
        for new in range(begin, added.stop):
            if _alike(rows[old], rows[new]):
                yield old, new
                begin = new + 1
                break


def _alike(old: Row, new: Row) -> bool:
    from difflib import SequenceMatcher

    a, b = _WORD.findall(old.text.strip()), _WORD.findall(new.text.strip())
    if not a or not b or max(len(old.text), len(new.text)) > _LONGEST_COMPARED:
        return False
    compared = SequenceMatcher(None, a, b, autojunk=False)
    if compared.quick_ratio() < _ALIKE / 2:
        return False
    same = sum(len("".join(a[block.a : block.a + block.size]).strip()) for block in compared.get_matching_blocks())
    lengths = len(old.text.strip()), len(new.text.strip())
    return 2 * same >= _ALIKE * sum(lengths) or same >= _KEPT * min(lengths)


def _differences(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    from difflib import SequenceMatcher

    a, b = _WORD.findall(old), _WORD.findall(new)
    at_a, at_b = _places(a), _places(b)
    before: list[tuple[int, int]] = []
    after: list[tuple[int, int]] = []
    for what, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if what != "equal":
            _add(before, at_a[a1], at_a[a2], old)
            _add(after, at_b[b1], at_b[b2], new)
    return before, after


def _places(words: Sequence[str]) -> list[int]:
    places = [0]
    for word in words:
        places.append(places[-1] + len(word))
    return places


def _add(spans: list[tuple[int, int]], begin: int, end: int, text: str) -> None:
    """What stands next to each other, with at most a space between, is one change."""
    if begin == end:
        return
    if spans and not text[spans[-1][1] : begin].strip() and begin - spans[-1][1] <= 1:
        begin = spans.pop()[0]
    spans.append((begin, end))


# What the code is


def _looks(rows: Sequence[Row], path: str) -> dict[int, list[tuple[int, int, str]]]:
    """Each version of each stretch of code is read as one text, as far as the diff shows it."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    old: list[int] = []
    new: list[int] = []

    def colour() -> None:
        found.update(_coloured(rows, old, path))
        found.update(_coloured(rows, new, path))
        old.clear()
        new.clear()

    for place, row in enumerate(rows):
        if row.kind == "file":
            colour()
            path = row.text.partition(" → ")[2] or row.text.removesuffix(" (new file)").removesuffix(" (deleted)")
        elif row.kind == "gap":
            colour()
        else:
            if row.kind != "added":
                old.append(place)
            if row.kind != "removed":
                new.append(place)
    colour()
    return found


def _coloured(rows: Sequence[Row], places: Sequence[int], path: str) -> dict[int, list[tuple[int, int, str]]]:
    texts = [rows[place].text for place in places]
    too_long = sum(map(len, texts)) > _LONGEST_COLOURED or max(map(len, texts), default=0) > _LONGEST_LINE
    if not texts or too_long or (lexer := _lexer(path)) is None:
        return {}
    found: dict[int, list[tuple[int, int, str]]] = {}
    line, column = 0, 0
    for kind, value in lexer.get_tokens("\n".join(texts)):
        look = _look(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                line, column = line + 1, 0
            if line < len(places) and part and look:
                found.setdefault(places[line], []).append((column, column + len(part), look))
            column += len(part)
    return found


_LOOKS = (
    ("Literal.String.Doc", "doc"),
    ("Comment", "comment"),
    ("Keyword", "keyword"),
    ("Operator.Word", "keyword"),
    ("Name.Decorator", "keyword"),
    ("Name.Tag", "keyword"),
    ("Name.Function", "name"),
    ("Name.Class", "name"),
    ("Literal.Number", "string"),
    ("Literal.String", "string"),
    ("Generic.Heading", "keyword"),
    ("Generic.Subheading", "keyword"),
)
_known_looks: dict[Any, str] = {}


def _look(kind: Any) -> str:
    if (look := _known_looks.get(kind)) is None:
        name = str(kind).removeprefix("Token.")
        look = next((look for prefix, look in _LOOKS if name == prefix or name.startswith(prefix + ".")), "")
        _known_looks[kind] = look
    return look


_lexers: dict[str, Any] = {}


def _lexer(path: str) -> Any:
    """None where nothing reads such files, or nothing that colours came with the program."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2] if "." in name else name
    if not name:
        return None
    if ending not in _lexers:
        _lexers[ending] = _new_lexer(name)
    return _lexers[ending]


def _new_lexer(name: str) -> Any:
    try:
        from pygments.lexers import find_lexer_class_for_filename
    except ImportError:
        return None
    kind: Any = find_lexer_class_for_filename(name)  # pyright: ignore[reportUnknownVariableType]
    return kind(stripnl=False, ensurenl=False) if kind is not None else None
