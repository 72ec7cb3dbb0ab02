"""A word about what a key just did, in one line above the input: it covers nothing, and goes by itself."""

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

LASTS = 4.0


class Aside(Static):
    DEFAULT_CSS = """
    Aside { height: auto; max-height: 3; margin: 0 2; color: $text-muted; display: none; }
    Aside.shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._timer: Timer | None = None

    def say(self, what: str | Content, *, lasts: float = LASTS) -> None:
        """Nothing said is silence."""
        self.update(what)
        self.set_class(bool(what), "shown")
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(lasts, self.hush)

    def hush(self) -> None:
        self.remove_class("shown")
