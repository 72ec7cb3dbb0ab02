"""One line until it is opened."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.widget import Widget
from textual.widgets import Static


class Foldable(Vertical, can_focus=True):
    DEFAULT_CSS = """
    Foldable {
        height: auto;
        padding: 0 1 0 2;
        & > .head { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &:focus > .head { background: $chosen-row; }
        & > .body { height: auto; max-height: 24; margin: 0 0 0 2; border-left: outer $panel; padding: 0 1; }
        &.found > .head { background: $found-now; color: $foreground; }
        &.rewound > .head { color: $text-disabled; }
    }
    """
    BINDINGS = [
        Binding("o,enter,space", "fold", "open or close", show=False),
        Binding("up,k", "app.focus_previous", "the one before", show=False),
        Binding("down,j", "app.focus_next", "the next one", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._head = Static(markup=False, classes="head")
        self._body: Widget | None = None

    @property
    def opened(self) -> bool:
        return self._body is not None

    def headline(self) -> Content:
        """What is always seen."""
        return Content("")

    def inside(self) -> Widget:
        """What opening shows."""
        return Static(markup=False)

    def compose(self) -> ComposeResult:
        self._head.update(self.headline())
        yield self._head

    def refresh_head(self) -> None:
        self._head.update(self.headline())

    async def action_fold(self) -> None:
        if self._body is not None:
            body, self._body = self._body, None
            await body.remove()
            return
        self._body = self.inside()
        self._body.add_class("body")
        await self.mount(self._body)

    async def reopen(self) -> None:
        """What opening shows is of another kind now."""
        if self.opened:
            await self.action_fold()
            await self.action_fold()

    async def on_click(self, event: Click) -> None:
        event.stop()
        if event.widget is self._head:
            await self.action_fold()
