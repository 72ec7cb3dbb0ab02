"""What a model thought: one dim line with its length."""

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from openagent.client.text import clean
from openagent.tui.foldable import Foldable


class Thought(Foldable):
    DEFAULT_CSS = """
    Thought > .head, Thought > .body { color: $text-muted; }
    """

    def __init__(self, text: str = "", *, thinking: bool = False) -> None:
        super().__init__()
        self._text = text
        self._thinking = thinking
        self._shown: Static | None = None

    def headline(self) -> Content:
        words = len(self._text.split())
        return Content(f"▸ {'thinking' if self._thinking else 'thought'} · {words} words")

    def inside(self) -> Widget:
        self._shown = Static(clean(self._text), markup=False)
        return VerticalScroll(self._shown, can_focus=False)

    def feed(self, text: str) -> None:
        self.become(self._text + text, thinking=True)

    def settle(self) -> None:
        """It has ended."""
        self.become(self._text, thinking=False)

    def become(self, text: str, *, thinking: bool) -> None:
        self._text, self._thinking = text, thinking
        self.refresh_head()
        if self.opened and self._shown is not None:
            self._shown.update(clean(text))
