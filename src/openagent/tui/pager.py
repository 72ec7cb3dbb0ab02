"""The full view: all of a text or a change on the whole screen, a page at a time. Only what is in sight is drawn."""

from collections.abc import Collection

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from openagent.client.diff import looks_like_diff
from openagent.client.text import clean, one_line
from openagent.tui.clicks import Hints, clickable
from openagent.tui.diff import DiffView
from openagent.tui.keys import Keys


class Lines(ScrollView, can_focus=True):
    DEFAULT_CSS = """
    Lines { height: 1fr; background: $background; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._lines = clean(text).expandtabs(4).split("\n")
        self.virtual_size = Size(max(map(len, self._lines), default=0) + 1, len(self._lines))

    def render_line(self, y: int) -> Strip:
        across, down = self.scroll_offset
        width = self.size.width
        if y + down >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        # A giant line is cut first: only what could be in sight is measured.
        line = self._lines[y + down][across : across + width]
        return Strip([Segment(line, self.rich_style)]).adjust_cell_length(width, self.rich_style)


class Pager(ModalScreen[str | None]):
    """Where a question is looked at, it can be answered too: the key that answers is what closing tells."""

    DEFAULT_CSS = """
    Pager { background: $background; }
    Pager > .title { height: 1; padding: 0 1; background: $surface; text-style: bold; }
    Pager > .fold { height: auto; padding: 0 1; background: $surface; }
    Pager > .answers { height: auto; max-height: 40%; padding: 0 1; background: $surface; }
    Pager > .keys { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    Pager > DiffView { height: 1fr; padding: 0 0 0 1; }
    """

    def __init__(
        self,
        title: str,
        text: str,
        keys: Keys,
        *,
        path: str = "",
        folded: tuple[str, str] = ("", ""),
        answers: Content | None = None,
        answered_by: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._title = title
        self._keys = keys
        self._answers = answers
        self._answered_by = answered_by
        """Keys, as they are typed."""
        self._path = path
        self._text = text
        self._headline, self._inside = folded
        """What is only shown when it is opened, and the line that says so."""
        self._opened = False
        self._fold = Hints(markup=False, classes="fold")
        self._view = self._view_of(text)

    def _view_of(self, text: str) -> "DiffView | Lines":
        return DiffView(text, path=self._path) if self._path or looks_like_diff(text) else Lines(text)

    def compose(self) -> ComposeResult:
        yield Static(one_line(self._title), markup=False, classes="title")
        yield self._view
        if self._headline:
            self._show_fold()
            yield self._fold
        if self._answers is not None:
            yield Hints(self._answers, markup=False, classes="answers")
        labels = f"{self._keys.label('pager_next')} next page · {self._keys.label('pager_quit')} closes"
        yield Static(f"{labels} · ↑↓ PgUp PgDn Home End move", markup=False, classes="keys")

    def on_mount(self) -> None:
        self._view.can_focus = True
        self._view.focus()

    def _show_fold(self) -> None:
        sign, does = ("▾", "closes") if self._opened else ("▸", "opens")
        line = Content.assemble(f"{sign} {self._headline}", (f"  Enter {does} it", "$foreground-muted"))
        self._fold.update(clickable(line, "screen.fold"))

    async def action_fold(self) -> None:
        self._opened = not self._opened
        self._show_fold()
        parts = [self._text, self._inside if self._opened else ""]
        closed, self._view = self._view, self._view_of("\n".join(part for part in parts if part))
        place = closed.virtual_size.height if self._opened else closed.scroll_offset.y
        await closed.remove()
        await self.mount(self._view, before=self._fold)
        self._view.can_focus = True
        self._view.focus()
        self.call_after_refresh(self._view.scroll_to, y=place, animate=False)

    def action_answer(self, key: str) -> None:
        self.dismiss(key)

    def action_tell(self) -> None:
        self.dismiss("D")

    def on_key(self, event: events.Key) -> None:
        if event.character is not None and event.character in self._answered_by:
            self.dismiss(event.character)
        elif event.key in self._keys.keys_of("pager_quit") | {"escape"}:
            self.dismiss(None)
        elif event.key in self._keys.keys_of("pager_next") | {"pagedown"}:
            self._view.scroll_page_down(animate=False)
        elif event.key == "enter" and self._headline:
            self.run_worker(self.action_fold(), exclusive=True, group="fold")
        elif event.key in ("b", "pageup"):
            self._view.scroll_page_up(animate=False)
        elif event.key in ("j", "k", "down", "up"):
            self._view.scroll_relative(y=1 if event.key in ("j", "down") else -1, animate=False)
        elif event.key in ("home", "end"):
            self._view.scroll_to(y=0 if event.key == "home" else self._view.max_scroll_y, animate=False)
        else:
            return
        event.stop()
        event.prevent_default()
