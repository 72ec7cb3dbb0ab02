"""Ctrl+R: what was typed before, found as one types, right above the input."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.widgets import Input

from openagent.client.text import one_line
from openagent.tui.picker import Choice, Picker


class HistorySearch(Picker):
    DEFAULT_CSS = """
    HistorySearch { align: center bottom; }
    HistorySearch > Vertical { margin: 0 0 3 0; }
    HistorySearch OptionList { max-height: 8; }
    """

    def __init__(self, past: Sequence[str], wanted: str) -> None:
        """`past` newest first; `wanted` is what the input holds already."""

        async def load() -> Sequence[Choice]:
            return [Choice(str(place), Content(one_line(text, 200)), text) for place, text in enumerate(past)]

        super().__init__("Typed before", load, empty="Nothing was typed yet.")
        self._wanted = wanted

    async def _fill(self) -> None:
        await super()._fill()
        search = self.query_one(Input)
        search.value = self._wanted
        search.cursor_position = len(self._wanted)

    def on_key(self, event: events.Key) -> None:
        """The same key again goes to what is older."""
        match event.key:
            case "ctrl+r":
                self._list.action_cursor_down()
            case "ctrl+s":
                self._list.action_cursor_up()
            case "ctrl+g":
                self.dismiss(None)
            case _:
                return
        event.stop()
        event.prevent_default()
