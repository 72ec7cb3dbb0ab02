"""The full view: all of a text on the whole screen, a page at a time. Only the lines in sight are drawn."""

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from openagent.client.text import clean, one_line
from openagent.tui.keys import Keys

_COLOURS = {"+": "success", "-": "error", "@": "primary"}


class Lines(ScrollView, can_focus=True):
    DEFAULT_CSS = """
    Lines { height: 1fr; background: $background; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._lines = clean(text).expandtabs(4).split("\n")
        self._is_diff = text.startswith(("--- ", "diff --git ", "@@ "))
        self.virtual_size = Size(max(map(len, self._lines), default=0) + 1, len(self._lines))

    def render_line(self, y: int) -> Strip:
        across, down = self.scroll_offset
        width = self.size.width
        if y + down >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        # A giant line is cut first: only what could be in sight is measured.
        line = self._lines[y + down][across : across + width]
        return Strip([Segment(line, self._style(self._lines[y + down]))]).adjust_cell_length(width, self.rich_style)

    def _style(self, line: str) -> Style:
        colour = _COLOURS.get(line[:1]) if self._is_diff and not line.startswith(("+++", "---")) else None
        if colour is None:
            return self.rich_style
        variables: dict[str, str] = self.app.theme_variables  # pyright: ignore[reportUnknownMemberType]
        return self.rich_style + Style(color=variables[colour])


class Pager(ModalScreen[None]):
    DEFAULT_CSS = """
    Pager { background: $background; }
    Pager > .title { height: 1; padding: 0 1; background: $surface; text-style: bold; }
    Pager > .keys { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    """

    def __init__(self, title: str, text: str, keys: Keys) -> None:
        super().__init__()
        self._title = title
        self._keys = keys
        self._view = Lines(text)

    def compose(self) -> ComposeResult:
        yield Static(one_line(self._title), markup=False, classes="title")
        yield self._view
        labels = f"{self._keys.label('pager_next')} next page · {self._keys.label('pager_quit')} closes"
        yield Static(f"{labels} · ←↑↓→ move · Home End", markup=False, classes="keys")

    def on_key(self, event: events.Key) -> None:
        if event.key in self._keys.keys_of("pager_quit") | {"escape"}:
            self.dismiss(None)
        elif event.key in self._keys.keys_of("pager_next"):
            self._view.scroll_page_down(animate=False)
        elif event.key in ("b", "pageup"):
            self._view.scroll_page_up(animate=False)
        else:
            return
        event.stop()
