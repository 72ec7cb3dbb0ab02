"""Markdown as lines of a given width. Text that grows is laid out anew only from its last block on."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from rich.cells import cell_len
from textual.content import Content, Span
from textual.style import Style

from openagent.client.text import clean
from openagent.tui.code import highlighted

PROSE = 76
"""Characters of a line of prose, at most: longer ones are hard to read."""
_CODE_MARGIN = 2
_COLUMN_GAP = 2
_NARROWEST_COLUMN = 3
_STYLES = {"em": "italic", "strong": "bold", "s": "strike", "link": "underline $primary"}
_MARKER = "$primary"
_TASK = re.compile(r"\[([ xX])\] +(?=\S)")
_GOES_ON = "↪ "
"""Before what was broken off a line of code."""
_FAR = 0.6
"""A word that begins further left than this share of the line is broken itself."""


class Line(NamedTuple):
    content: Content
    joint: str = "\n"
    """What stood between this line and the one before it: where a long line was broken, a space or nothing."""
    indent: int = 0
    """Characters before what was said: markers, and the room below them."""

    def behind(self, mark: Content) -> "Line":
        return Line(mark + self.content, self.joint, self.indent + len(mark))


class Page:
    def __init__(self, text: str = "") -> None:
        self._text = text
        self._width = 0
        self._settled: list[Line] = []
        """Lines of blocks that nothing more can be added to."""
        self._growing: list[Line] = []
        self._grows_from = 0
        """Where in the text the first block begins that more can be added to."""

    def append(self, text: str) -> None:
        self._text += text
        if self._width:
            self._go_on()

    def become(self, text: str) -> None:
        self._text = text
        self._lay_out_anew()

    def fit(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self._lay_out_anew()

    @property
    def height(self) -> int:
        return len(self._settled) + len(self._growing)

    @property
    def settled(self) -> int:
        """Lines from the top that will stay as they are."""
        return len(self._settled)

    def line(self, y: int) -> Line:
        return self._settled[y] if y < len(self._settled) else self._growing[y - len(self._settled)]

    def _lay_out_anew(self) -> None:
        self._settled, self._growing, self._grows_from = [], [], 0
        if self._width:
            self._go_on()

    def _go_on(self) -> None:
        text = self._text[self._grows_from :]
        lines = text.split("\n")
        blocks = parsed(text)
        begins = [(block.map or (0, 0))[0] for block in blocks]
        # A line that has not ended may look like a block of its own and become part of the one before.
        kept = max((number for number, begin in enumerate(begins) if begin < len(lines) - 1), default=0)
        for block in blocks[:kept]:
            self._settled += _after(self._settled, self._drawn(block))
        self._growing = []
        for block in blocks[kept:]:
            self._growing += _after(self._settled or self._growing, self._drawn(block))
        if blocks:
            self._grows_from += sum(len(line) + 1 for line in lines[: begins[kept]])

    def _drawn(self, block: SyntaxTreeNode) -> list[Line]:
        return _block(block, self._width)


def parsed(text: str) -> list[SyntaxTreeNode]:
    """The blocks of a text. Items of task lists know whether they are done."""
    tokens = _parser().parse(text)
    for item, _, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and inline.type == "inline" and (found := _TASK.match(inline.content)):
            first = (inline.children or [inline])[0]
            item.meta["done"] = found[1] != " "
            first.content = first.content[len(found[0]) :]
    return list(SyntaxTreeNode(tokens).children)


def pieces(node: SyntaxTreeNode, width: int) -> list[list[Line]]:
    """The lines of a block in parts of which only the last changes while the block grows."""
    match node.type:
        case "fence" | "code_block":
            return _code(node, width)
        case "bullet_list" | "ordered_list":
            return _list(node, width)
        case _:
            return [_block(node, width)]


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("gfm-like")
    if parser.linkify is not None:
        # `retry.py` is a file here, and not a host in Paraguay.
        parser.linkify.set({"fuzzy_link": False})  # pyright: ignore[reportUnknownMemberType]
    return parser


def _after(before: Sequence[Line], lines: list[Line]) -> list[Line]:
    return [Line(Content("")), *lines] if before and lines else lines


def _block(node: SyntaxTreeNode, width: int) -> list[Line]:
    match node.type:
        case "paragraph":
            return _wrapped(_inline(node), min(width, PROSE))
        case "heading":
            style = "bold $primary" if node.tag in ("h1", "h2") else "bold"
            return _wrapped(_inline(node).stylize_before(style), min(width, PROSE))
        case "fence" | "code_block" | "bullet_list" | "ordered_list":
            return [line for piece in pieces(node, width) for line in piece]
        case "blockquote":
            mark = Content.styled("▌ ", f"{_MARKER} 50%")
            inside = _blocks(node.children, width - mark.cell_length)
            return [line.behind(mark) for line in inside]
        case "table":
            return _table(node, width)
        case "hr":
            return [Line(Content.styled("─" * min(width, PROSE), "$panel"))]
        case _:
            return _wrapped(Content(node.content.rstrip()), min(width, PROSE))


def _blocks(nodes: Iterable[SyntaxTreeNode], width: int, *, close: bool = False) -> list[Line]:
    lines: list[Line] = []
    for node in nodes:
        drawn = _block(node, max(width, 1))
        lines += drawn if close else _after(lines, drawn)
    return lines


def _wrapped(content: Content, width: int) -> list[Line]:
    lines: list[Line] = []
    for whole in content.split("\n", allow_blank=True):
        end = 0
        for place, line in enumerate(whole.wrap(max(width, 1))):
            shown = line[len(line.plain) - len(line.plain.lstrip(" ")) :] if place else line
            begin = max(whole.plain.find(shown.plain, end), end)
            lines.append(Line(shown, "\n" if not place else " " if begin > end else ""))
            end = begin + len(shown.plain)
    return lines


def _list(node: SyntaxTreeNode, width: int) -> list[list[Line]]:
    items: list[list[Line]] = []
    first = int(node.attrs.get("start", 1))
    ordered = node.type == "ordered_list"
    wide = len(f"{first + len(node.children) - 1}. ") if ordered else 2
    close = all(part.hidden for item in node.children for part in item.children if part.type == "paragraph")
    for number, item in enumerate(node.children, first):
        marker = Content.styled((f"{number}. " if ordered else "• ").rjust(wide), _MARKER)
        if (done := item.meta.get("done")) is not None:
            box = Content.styled("☑ " if done else "☐ ", "$success" if done else "$foreground-muted")
            marker = marker + box if ordered else box
        room = marker.cell_length
        inside = _blocks(item.children, width - room, close=close) or [Line(Content(""))]
        drawn = [line.behind(Content(" " * room) if place else marker) for place, line in enumerate(inside)]
        items.append(drawn if close or not items else _after(items[-1], drawn))
    return items


def _code(node: SyntaxTreeNode, width: int) -> list[list[Line]]:
    """As wide as there is room. What is longer goes on below, behind a mark, and is copied as the one line it is."""
    language = node.info.split()[0] if node.info.strip() else ""
    whole = highlighted(node.content.rstrip("\n"), language).split("\n", allow_blank=True)
    room = max(width - 2 * _CODE_MARGIN, 1)
    return [[_on_ground(part, width) for part in _broken(line, room)] for line in whole]


def _on_ground(line: Line, width: int) -> Line:
    margin = min(_CODE_MARGIN, width - 1)
    content = line.content.pad(margin, max(width - margin - line.content.cell_length, 0))
    return Line(content.stylize_before("on $surface"), line.joint, line.indent + margin)


def _broken(whole: Content, room: int) -> list[Line]:
    """Where a word begins, if that is not far from the edge; below, it hangs where the line began."""
    if len(whole) <= room and whole.cell_length <= room:
        return [Line(whole)]
    first, whole = _cut(whole, room)
    begins = len(first.plain) - len(first.plain.lstrip(" "))
    mark = Content.styled(" " * min(begins, room // 3) + _GOES_ON, "$gutter") if room > len(_GOES_ON) else Content("")
    lines = [Line(first)]
    while whole:
        blanks = len(first.plain) - len(first.plain.rstrip(" "))
        first, whole = _cut(whole, room - len(mark))
        lines.append(Line(mark + first, " " * blanks, len(mark)))
    return lines


def _cut(content: Content, room: int) -> tuple[Content, Content]:
    place = fitting = 0
    for character in content.plain[:room]:
        fitting += cell_len(character)
        if fitting > room:
            break
        place += 1
    if place >= len(content):
        return content, Content("")
    word = content.plain.rfind(" ", 0, place) + 1
    place = word if word > place * _FAR else max(place, 1)
    return content[:place], content[place:]


def _table(node: SyntaxTreeNode, width: int) -> list[Line]:
    rows = [row for part in node.children for row in part.children]
    cells = [[_inline(cell) for cell in row.children] for row in rows]
    right = ["right" in str(cell.attrs.get("style", "")) for cell in rows[0].children]
    widths = _column_widths(cells, width)
    lines: list[Line] = []
    for number, row in enumerate(cells):
        texts = [cell if number else cell.stylize_before("bold") for cell in row]
        columns = [text.wrap(wide) for text, wide in zip(texts, widths, strict=False)]
        for parts in zip_longest(*columns, fillvalue=Content("")):
            padded = (
                part.pad_left(wide - part.cell_length) if to_right else part.pad_right(wide - part.cell_length)
                for part, wide, to_right in zip(parts, widths, right, strict=False)
            )
            lines.append(Line(Content(" " * _COLUMN_GAP).join(list(padded)).truncate(width)))
        if number == 0:
            rule = ("─" * _COLUMN_GAP).join("─" * wide for wide in widths)
            lines.append(Line(Content.styled(rule[:width], "$panel")))
    return lines


def _column_widths(cells: list[list[Content]], width: int) -> list[int]:
    """Narrow columns keep what they need; wide ones share the rest."""
    needed = [max(cell.cell_length for cell in column if cell is not None) for column in zip_longest(*cells)]
    needed = [max(each, 1) for each in needed]
    left = width - _COLUMN_GAP * (len(needed) - 1)
    widths = list(needed)
    waiting = sorted(range(len(needed)), key=lambda column: needed[column])
    while waiting:
        column = waiting.pop(0)
        widths[column] = min(needed[column], max(left // (len(waiting) + 1), _NARROWEST_COLUMN))
        left -= widths[column]
    return widths


def _inline(node: SyntaxTreeNode) -> Content:
    pieces: list[str] = []
    spans: list[Span] = []
    for inline in node.children:
        _collect(inline.children, pieces, spans)
    return Content("".join(pieces), spans)


def _collect(nodes: Iterable[SyntaxTreeNode], pieces: list[str], spans: list[Span]) -> None:
    for node in nodes:
        begin = sum(map(len, pieces))
        match node.type:
            case "hardbreak":
                pieces.append("\n")
            case "softbreak":
                pieces.append(" ")
            case "code_inline":
                pieces.append(node.content)
                spans.append(Span(begin, begin + len(node.content), "$foreground on $panel"))
            case "image":
                pieces.append(f"[image: {node.content}]")
            case "link":
                _collect(node.children, pieces, spans)
                end = sum(map(len, pieces))
                spans.append(Span(begin, end, _STYLES["link"]))
                if (address := clean(str(node.attrs.get("href", "")))).isprintable():
                    spans.append(Span(begin, end, Style(link=address)))
            case kind if kind in _STYLES:
                _collect(node.children, pieces, spans)
                spans.append(Span(begin, sum(map(len, pieces)), _STYLES[kind]))
            case _:
                pieces.append(node.content)
