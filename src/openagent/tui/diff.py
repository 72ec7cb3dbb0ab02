"""A change on the screen: line numbers, tinted lines, changed words, the code's own colours."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rich.segment import Segment
from textual.app import App
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style

from openagent.client.diff import Line, Piece, cells, laid_out

_CODE: Mapping[str, str] = {
    "keyword": "$primary",
    "string": "$secondary",
    "name": "bold",
    "comment": "$foreground-muted italic",
    "doc": "$foreground-muted italic",
}
_BESIDE: Mapping[str, str] = {"number": "$gutter", "quiet": "$foreground-muted", "count": "$foreground-muted"}
_STATES = {"added": "$success", "removed": "$error"}


def coloured(patch: str, width: int, *, tinted: bool, headed: bool = True) -> Content:
    """All of a change at once, for where something else scrolls."""
    lines = laid_out(patch, width, headed=headed)
    return Content("\n").join([painted(line, width, tinted=tinted) for line in lines])


def can_tint(app: App[Any]) -> bool:
    """Sixteen colours have no quiet green: there the letters themselves are green or red."""
    return not app.theme.endswith("-16")


def painted(line: Line, width: int, *, tinted: bool) -> Content:
    shown = Content.assemble(*((piece.text, _style(line.kind, piece, tinted=tinted)) for piece in line.pieces))
    if line.kind not in _STATES:
        return shown
    rest = max(width - cells(shown.plain), 0)  # the tint goes to the edge
    return Content.assemble(shown, (" " * rest, f"on ${line.kind}-row"))


def _style(kind: str, piece: Piece, *, tinted: bool) -> str:
    if kind == "file":
        return "$foreground-muted" if piece.look == "count" else "bold"
    state = _STATES.get(kind, "")
    row = f"on ${kind}-row" if state else ""
    if piece.look in _BESIDE:
        return f"{_BESIDE[piece.look]} {row}".strip()
    if piece.look == "sign":
        return f"{state} {row}".strip()
    if piece.changed and not tinted:
        return f"$foreground bold on ${kind}-word"
    letters = _CODE.get(piece.look, "") if tinted or not state else state
    return f"{letters} on ${kind}-word".strip() if piece.changed else f"{letters} {row}".strip()


class DiffView(ScrollView):
    """Only the lines in sight are drawn; those too long for the screen go on below."""

    DEFAULT_CSS = """
    DiffView { height: auto; background: transparent; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    DiffView { overflow-x: hidden; scrollbar-size-horizontal: 0; }
    DiffView { scrollbar-color: $panel; scrollbar-background: transparent; }
    """

    def __init__(self, patch: str, *, path: str = "", headed: bool = True, most: int = 0, classes: str = "") -> None:
        """`most`: its first lines alone, and how many more there are."""
        super().__init__(classes=classes)
        self.can_focus = False
        self._patch = patch
        self._path = path
        self._headed = headed
        self._most = most
        self._lines: Sequence[Line] = ()
        self._width = 0

    @property
    def lines_in_sight(self) -> tuple[int, int, int]:
        """The first and the last one, and how many there are."""
        top, count = self.scroll_offset.y, len(self._lines)
        return min(top + 1, count), min(top + self.size.height, count), count

    def _fit(self, width: int) -> None:
        if width > 0 and width != self._width:
            self._width = width
            self._lines = laid_out(self._patch, width, path=self._path, headed=self._headed, most=self._most)
            self.virtual_size = Size(width, len(self._lines))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._fit(width)
        return len(self._lines)

    def on_resize(self, event: Resize) -> None:
        self._fit(self.scrollable_content_region.width)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        style = self.visual_style
        number = y + self.scroll_offset.y
        if number >= len(self._lines):
            return Strip.blank(width, style.rich_style)
        app = cast("App[Any]", self.app)  # pyright: ignore[reportUnknownMemberType]
        content = painted(self._lines[number], width, tinted=can_tint(app))
        if (selection := self.text_selection) is not None and (span := selection.get_span(number)) is not None:
            start, end = span
            marked = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(marked, start, len(content) if end < 0 else end)
        x = 0
        segments: list[Segment] = []
        for text, own in content.render(style, end="", parse_style=self._get_style):
            segments.append(Segment(text, (style + own).rich_style_with_offset(x, number)))
            x += len(text)
        return Strip(segments).adjust_cell_length(width, style.rich_style)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        chosen: list[str] = []
        for number, line in enumerate(self._lines):
            if (span := selection.get_span(number)) is not None:
                start, end = span
                text = "".join(piece.text for piece in line.pieces)
                chosen.append(text[start : None if end < 0 else end].rstrip())
        return "\n".join(chosen), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()
