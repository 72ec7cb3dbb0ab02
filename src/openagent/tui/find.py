"""Finding words in a conversation, however long it is: a line above the input, and the words lit where they stand."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from openagent.client.text import clean
from openagent.protocol.search import FoundMessage, FoundMessages
from openagent.tui.lit import words_of

MOST = 200
"""Messages that are gone through, the newest first."""
_PAUSE = 0.1
"""Seconds without a key until what was typed is searched for."""
_AGAIN = 0.3
"""Seconds until it is asked again, while the daemon still reads what was said."""
_BEGIN, _END = "\x02", "\x03"
_BEFORE = 20
"""Characters shown before the first word that was found: what follows may be cut, the word may not."""
Search = Callable[[str], Awaitable[FoundMessages | None]]
Go = Callable[[int, list[str]], Awaitable[None]]
"""To a message, with these words lit; 0: there is none."""


def excerpt(found: FoundMessage, before: int = 2 * _BEFORE) -> Content:
    """With so many characters before the first word that was found."""
    pieces = [piece.partition(_END) for piece in found.excerpt.split(_BEGIN)]
    if len(pieces) > 1 and len(text := _flat(pieces[0][0])) > before:
        kept = text[-before:]
        pieces[0] = (f"…{kept.partition(' ')[2] or kept}", "", "")
    marked = [
        Content.assemble((_flat(hit), "bold $primary"), _flat(rest)) if end else Content(_flat(hit))
        for hit, end, rest in pieces
    ]
    return Content("").join(marked)


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", clean(text))


class Find(Horizontal):
    DEFAULT_CSS = """
    Find { height: 1; margin: 0 1; background: $panel; }
    Find > .label { width: auto; padding: 0 1; color: $primary; text-style: bold; }
    Find > Input, Find > Input:focus { border: none; height: 1; width: 26; padding: 0; background: $panel; }
    Find > .count { width: 1fr; height: 1; padding: 0 1; color: $text-muted; }
    Find > .count { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, search: Search, go: Go, close: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._search = search
        self._show = go
        self._close = close
        self._input = Input(placeholder="words")
        self._count = Static("Enter ↑ older · ↓ newer · Esc closes", markup=False, classes="count")
        self._found: Sequence[FoundMessage] = ()
        """The newest last."""
        self._at = 0
        self._query = ""

    def compose(self) -> ComposeResult:
        yield Static("find", markup=False, classes="label")
        yield self._input
        yield self._count

    def on_mount(self) -> None:
        self._input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.run_worker(self._look(event.value), exclusive=True, group="find")

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._query == event.value:
            await self.step(-1)
        else:
            self.run_worker(self._look_for(event.value), exclusive=True, group="find")

    async def _look(self, query: str) -> None:
        await asyncio.sleep(_PAUSE)
        await self._look_for(query)

    async def _look_for(self, query: str) -> None:
        self._query = query
        if not words_of(query):
            self._found = ()
            self._count.update("")
            await self._show(0, [])
            return
        known = -1
        while (answer := await self._search(query)) is not None:
            if len(answer.found) != known or not (answer.found or answer.unread):
                known = len(answer.found)
                await self._take(answer)
            if not answer.unread:
                return
            await asyncio.sleep(_AGAIN)

    async def _take(self, answer: FoundMessages) -> None:
        self._found = sorted(answer.found, key=lambda found: found.number)
        self._at = len(self._found) - 1
        if self._found:
            await self._go()
        else:
            reading = " Still reading …" if answer.unread else ""
            self._count.update(f"Nothing that was said holds these words.{reading}")
            await self._show(0, [])

    async def _go(self) -> None:
        found = self._found[self._at]
        more = "+" if len(self._found) >= MOST else ""
        place = Content.styled(f"{self._at + 1}/{len(self._found)}{more}  ", "bold $foreground")
        self._count.update(place + excerpt(found, _BEFORE))
        await self._show(found.number, words_of(self._query))

    async def step(self, by: int) -> None:
        if self._found:
            self._at = (self._at + by) % len(self._found)
            await self._go()

    async def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape":
                await self._close()
            case "up" | "ctrl+p" | "ctrl+r":
                await self.step(-1)
            case "shift+enter" | "alt+enter" | "down" | "ctrl+n" | "ctrl+s":
                await self.step(1)
            case _:
                return
        event.stop()
        event.prevent_default()
