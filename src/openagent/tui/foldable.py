"""One line until it is opened."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static


class Foldable(Vertical, can_focus=True):
    FOCUS_ON_CLICK = False
    DEFAULT_CSS = """
    Foldable {
        height: auto;
        padding: 0 1 0 2;
        & > .head { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &:focus > .head { background: $chosen-row; color: $foreground; text-style: bold; }
        & > .body { height: auto; max-height: 24; margin: 0 0 0 2; border-left: outer $panel; padding: 0 1; }
        &.found > .head { background: $found-now; color: $foreground; }
        &.rewound > .head { color: $text-disabled; }
    }
    """
    BINDINGS = [
        Binding("enter,right", "fold", "open or close", show=False),
        Binding("up", "step(-1)", "the one before", show=False),
        Binding("down", "step(1)", "the next one", show=False),
        Binding("escape,tab,left", "leave", "back to the input", show=False),
    ]

    class Left(Message):
        """The keys go on: to the one before (-1), the next one (1), or back to the input (0)."""

        def __init__(self, origin: "Foldable", step: int) -> None:
            super().__init__()
            self.origin = origin
            self.step = step

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

    async def on_key(self, event: Key) -> None:
        """At once: a binding is looked up when the key has come all the way up, with the focus of that moment."""
        for bound, binding in self._bindings:
            if bound == event.key:
                event.stop()
                event.prevent_default()
                await self.run_action(binding.action)

    def action_step(self, step: int) -> None:
        self.post_message(self.Left(self, step))

    def action_leave(self) -> None:
        self.post_message(self.Left(self, 0))

    async def on_click(self, event: Click) -> None:
        event.stop()
        if event.widget is self._head:
            await self.action_fold()
