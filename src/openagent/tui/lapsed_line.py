"""What nobody answered in time, in one line above the input until it is asked again or let go."""

from collections.abc import Sequence

from textual.content import Content

from openagent.client.text import clean
from openagent.protocol.sessions import LapsedAsk
from openagent.protocol.words import lapsed_told
from openagent.tui.clicks import Hints, hint


class LapsedLine(Hints):
    DEFAULT_CSS = """
    LapsedLine { height: auto; max-height: 4; padding: 0 1; display: none; }
    LapsedLine.shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)

    def show(self, lapsed: Sequence[LapsedAsk]) -> None:
        self.set_class(bool(lapsed), "shown")
        told = clean(lapsed_told(each.what for each in lapsed))
        ask, drop = hint("/ask-again", "asks again", "app.ask_again"), hint("/let-go", "lets it go", "app.let_go")
        self.update(Content.assemble((f"◆ {told}\n", "$warning"), "  ", ask, "  ", drop))
