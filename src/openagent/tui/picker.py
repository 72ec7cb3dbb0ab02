"""A list to choose from, with a search. Sessions, models, modes and the past are chosen with it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError


@dataclass(frozen=True)
class Choice:
    id: str
    label: Content
    found_by: str
    """What the search looks into."""


Load = Callable[[], Awaitable[Sequence[Choice]]]
Search = Callable[[str], Awaitable[Sequence[Choice]]]
"""What else is found for words, and takes a moment."""
Preview = Callable[[str], Awaitable[Content]]
_PAUSE = 0.12
"""Seconds without a key until what was typed is searched for elsewhere."""
_SHORTEST = 3
"""Characters that are searched for elsewhere."""


class Picker(ModalScreen[str | None]):
    DEFAULT_CSS = """
    Picker { align: center middle; background: $veil; }
    Picker > Vertical {
        width: 90%; max-width: 100; height: auto; max-height: 90%;
        border: round $primary; border-title-color: $primary; border-subtitle-color: $text-muted;
        background: $surface; padding: 0 1;
    }
    Picker Input, Picker Input:focus { border: none; height: 1; padding: 0 1; background: $panel; }
    Picker OptionList {
        border: none; height: auto; max-height: 14; background: $surface; padding: 0;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    Picker .empty { color: $text-muted; display: none; }
    Picker .empty.shown { display: block; }
    Picker VerticalScroll { height: 12; border-top: solid $panel; display: none; scrollbar-size-vertical: 1; }
    Picker.previewing VerticalScroll { display: block; }
    """

    def __init__(
        self, title: str, load: Load, *, empty: str, preview: Preview | None = None, search: Search | None = None
    ) -> None:
        super().__init__()
        self._search = search
        self._title = title
        self._load = load
        self._empty_text = empty
        self._preview = preview
        self._choices: Sequence[Choice] = ()
        self._list = OptionList(compact=True)
        self._empty = Static("Loading …", markup=False, classes="empty shown")
        self._shown = Static(markup=False)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "Enter chooses · Esc closes"
            yield Input(placeholder="search")
            yield self._list
            yield self._empty
            with VerticalScroll(can_focus=False):
                yield self._shown

    def on_mount(self) -> None:
        self.set_class(self._preview is not None, "previewing")
        self.run_worker(self._fill, exclusive=True, group="fill")

    async def _fill(self) -> None:
        try:
            self._choices = await self._load()
        except OpenAgentError as problem:
            self._say(f"{problem} Ctrl-R tries again.")
            return
        self._show("")

    def _show(self, wanted: str) -> None:
        words = wanted.lower().split()
        fitting = [choice for choice in self._choices if all(word in choice.found_by.lower() for word in words)]
        self._list.clear_options()
        self._list.add_options([Option(choice.label, id=choice.id) for choice in fitting])
        if fitting:
            self._list.highlighted = 0
        self._say("" if fitting else ("Nothing fits. Search for less." if self._choices else self._empty_text))

    def _say(self, text: str) -> None:
        self._empty.update(clean(text))
        self._empty.set_class(bool(text), "shown")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show(event.value)
        if self._search is not None:
            self.run_worker(self._look(self._search, event.value.strip()), exclusive=True, group="search")

    async def _look(self, search: Search, wanted: str) -> None:
        await asyncio.sleep(_PAUSE)
        if len(wanted) < _SHORTEST:
            return
        try:
            found = await search(wanted)
        except OpenAgentError:
            return  # what fits by name is there
        nothing_else = self._list.option_count == 0
        self._list.add_options([Option(choice.label, id=choice.id) for choice in found])
        if found and nothing_else:
            self._list.highlighted = 0
            self._say("")

    def on_input_submitted(self) -> None:
        if self._list.highlighted is not None:
            self.dismiss(self._list.get_option_at_index(self._list.highlighted).id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self._preview is not None and event.option_id is not None:
            self.run_worker(
                partial(self._show_preview, self._preview, event.option_id), exclusive=True, group="preview"
            )

    async def _show_preview(self, preview: Preview, id_: str) -> None:
        try:
            self._shown.update(await preview(id_))
        except OpenAgentError as problem:
            self._shown.update(Content.styled(clean(str(problem)), "$error"))

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape":
                self.dismiss(None)
            case "down":
                self._list.action_cursor_down()
            case "up":
                self._list.action_cursor_up()
            case "ctrl+r":
                self.run_worker(self._fill, exclusive=True, group="fill")
            case _:
                return
        event.stop()
