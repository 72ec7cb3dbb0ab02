"""Who gets a key: what is written goes to the input, whatever has the focus; two keys after one another are one."""

from collections.abc import Awaitable, Callable

from textual import events
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, TextArea

from openagent.tui.keys import ACTIONS, ARROWS, Keys
from openagent.tui.permission import PermissionPanel

_HELD = ("shift", "control", "alt", "super", "hyper", "meta", "caps_lock", "num_lock", "iso_level")
"""Kitty's protocol tells these as keys of their own; nobody means them so."""


class Keyboard:
    def __init__(self, do: Callable[[str], Awaitable[None]], say: Callable[[Content | str], None]) -> None:
        self._do = do
        """Does an action, or goes to a tab by its number."""
        self._say = say
        self._first = ""

    async def takes_chord(self, event: events.Key, keys: Keys, width: int) -> bool:
        """Whether the key is part of two that belong together. `width` is there to say what may follow."""
        if is_held(event):
            return bool(self._first)
        if not self._first:
            if event.key not in keys.chords:
                return False
            self._first = event.key
            self._say(_following(event.key, keys, width))
            return True
        first, self._first = self._first, ""
        key = event.character if event.is_printable and event.character else event.key
        action = keys.chords.get(first, {}).get(key) or keys.chords.get(first, {}).get(event.key)
        self._say("")
        if action or (key.isdigit() and key != "0"):
            await self._do(action or key)
        elif event.key != "escape":
            self._say(f"{first} {key} does nothing. ? shows the keys.")
        return True


def is_held(event: events.Key) -> bool:
    return "+" not in event.key and any(held in event.key for held in _HELD)


def wants(widget: Widget | None, event: events.Key | events.Paste, bound: set[str], *, drafting: bool) -> bool:
    """Whether what has the focus is where this key belongs: something to write in, an answer to give, its own keys.

    `bound` are the keys that do something everywhere."""
    if isinstance(widget, Input | TextArea):
        return True
    if widget is None or isinstance(event, events.Paste):
        return False
    own = any(event.key == key for key, _ in widget._bindings)  # pyright: ignore[reportPrivateUsage]
    if event.is_printable and event.character is not None:
        answers = isinstance(widget, PermissionPanel) and widget.armed and (widget.reached or not drafting)
        return (own and answers) or event.key in bound
    return own or event.key in bound or event.key in ("escape", "tab") or is_held(event)


def _following(first: str, keys: Keys, width: int) -> Content:
    """No key is parted from its word."""
    pairs = [(ARROWS.get(key, key), ACTIONS[name].short) for key, name in keys.chords[first].items()]
    lines: list[list[Content]] = [[]]
    for key, what in [*((key, what) for key, what in pairs if what), ("1…9", "tab")]:
        shown = Content.assemble((key, "bold $primary"), f" {what}")
        if sum(len(each) + 2 for each in lines[-1]) + len(shown) > width:
            lines.append([])
        lines[-1].append(shown)
    return Content("\n").join([Content("  ").join(line) for line in lines])
