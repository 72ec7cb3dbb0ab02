"""The sessions that are open, one tab each."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from openagent.client.text import clean, one_line
from openagent.protocol.sessions import SessionInfo

_MARKS = {
    "idle": ("○", "$foreground-muted"),
    "thinking": ("●", "$primary"),
    "executing_tool": ("●", "$primary"),
    "waiting_approval": ("◆", "$warning"),
    "error": ("●", "$error"),
    "interrupted": ("■", "$warning"),
    "unanswered": ("◆", "$warning"),
}


class Tab(Static):
    DEFAULT_CSS = """
    Tab { width: auto; height: 1; padding: 0 1; color: $text-muted; }
    Tab.active { color: $foreground; text-style: bold; background: $panel; }
    """

    class Chosen(Message):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, number: int, info: SessionInfo | None, *, active: bool) -> None:
        name = one_line(info.name, 18) if info and info.name else "new session"
        mark, colour = _MARKS[info.status if info else "idle"]
        content = Content.assemble((f"{number} ", "$primary"), name, " ", (mark, colour))
        super().__init__(content, markup=False, classes="active" if active else None)
        self._number = number

    def on_click(self) -> None:
        self.post_message(self.Chosen(self._number))


class TabBar(Horizontal):
    DEFAULT_CSS = """
    TabBar { height: 1; background: $surface; }
    TabBar > #tabs { width: 1fr; height: 1; }
    TabBar > #place { width: auto; height: 1; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place
        self._shown: object = None

    def compose(self) -> ComposeResult:
        yield Horizontal(id="tabs")
        yield Static(clean(f"openagent · {self._place}"), markup=False, id="place")

    async def show(self, sessions: list[SessionInfo | None], active: int) -> None:
        """One row that is drawn anew only when something in it is another."""
        now = ([(info.name, info.status) if info else None for info in sessions], active)
        if now == self._shown:
            return
        self._shown = now
        row = self.query_one("#tabs")
        await row.remove_children()
        await row.mount_all([Tab(n, info, active=n == active) for n, info in enumerate(sessions, 1)])
