"""The input: several lines, history, completion, pasted things as chips, vim's keys for who wants them."""

from time import monotonic

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from openagent.protocol.messages import ImagePart
from openagent.tui.completion import Completion
from openagent.tui.history import History
from openagent.tui.keys import LINE, Keys
from openagent.tui.paste import Pasted, TooLarge
from openagent.tui.readline import Readline
from openagent.tui.vim import Vim

_CHOOSING = frozenset(("up", "ctrl+p", "down", "ctrl+n", "escape", "tab", "enter"))
TWICE = 0.6
"""Seconds between two presses that belong together."""


class Prompt(TextArea):
    DEFAULT_CSS = """
    Prompt {
        height: auto; min-height: 1; max-height: 8; margin: 0 1; padding: 0 1;
        border: none; border-left: thick $panel; background: $surface;
        &:focus { border: none; border-left: thick $primary; }
        &.running:focus { border-left: thick $warning; }
        &.normal:focus { border-left: thick $success; }
    }
    """

    class Submitted(Message):
        def __init__(self, text: str, images: list[ImagePart], shown: str) -> None:
            super().__init__()
            self.text = text
            self.images = images
            self.shown = shown
            """As it stood in the input, with its chips."""

    class Escaped(Message):
        """Nothing in the input wanted the key."""

    class HelpAsked(Message):
        pass

    class SearchAsked(Message):
        """For something that was typed before."""

    class BackAsked(Message):
        """Esc twice with nothing written: to an earlier message."""

    class Hint(Message):
        """A word about what a key did."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, keys: Keys, completion: Completion, history: History, *, vim: bool) -> None:
        super().__init__(placeholder="message, @file, /command, !shell", soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self.keys = keys
        self.pasted = Pasted()
        self._readline = Readline(self)
        self._vim = Vim(self) if vim else None
        self._history = history
        self._said: list[str] = []
        """What was said in this session, by whomever."""
        self._folded: dict[str, str] = {}
        """What was written here with chips, by what they stand for."""
        self._past: list[str] = []
        """What the keys go through just now, oldest first."""
        self._at = 0
        self._changed: dict[int, str] = {}
        """What was written in places of the past, and the draft after them: going through them loses nothing."""
        self._completion = completion
        self._escaped_at = 0.0

    def start_history(self, said: list[str]) -> None:
        self._said = said
        self._begin_anew()

    def remember(self, shown: str, whole: str) -> None:
        """For the up key: as it stood in the input here, and whole in later runs."""
        self._history.add(whole)
        self._said.append(shown)
        self._folded[whole] = shown
        self._begin_anew()

    def put_away(self) -> None:
        """Empties the input; the up key brings back what was there."""
        shown = self.text
        self.text = ""
        if shown.strip():
            self.remember(shown, self.pasted.expand(shown)[0])

    def _as_shown(self, whole: str) -> str:
        return self._folded.get(whole, whole)

    def typed_before(self) -> list[str]:
        """Oldest first, each once, where it was typed last."""
        newest_first = dict.fromkeys(reversed([*map(self._as_shown, self._history.texts), *self._said]))
        return [*reversed(newest_first)]

    def _begin_anew(self) -> None:
        self._past, self._changed = [], {}

    def use_vim(self, on: bool) -> None:
        self._vim = Vim(self) if on else None
        self._show_vim()

    def _show_vim(self) -> None:
        self.set_class(self._vim is not None and not self._vim.inserting, "normal")

    def put(self, text: str) -> None:
        """Something chosen elsewhere, at the cursor."""
        self.insert(text)
        self.focus()

    def write_anew(self, text: str) -> None:
        """Another draft, written elsewhere; undo brings back the one before."""
        self.replace(text, self.document.start, self.document.end)
        self.move_cursor(self.document.end)
        self.focus()

    def on_text_area_changed(self) -> None:
        self._look()

    def _look(self) -> None:
        row, column = self.cursor_location
        lines = self.text.split("\n")
        before = "\n".join([*lines[:row], lines[row][:column]])
        self._completion.look(before)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        try:
            self.insert(self.pasted.take(event.text))
        except TooLarge as problem:
            self.notify(str(problem), severity="warning", markup=False)
        self.focus()

    async def _on_key(self, event: events.Key) -> None:
        if self._handled(event) or await self._edited(event.key):
            event.prevent_default()
            event.stop()
            return
        await super()._on_key(event)

    async def _edited(self, key: str) -> bool:
        """Its own bindings now, not after the event went up to the screen: there, the next letter would overtake it."""
        for bound, binding in self._bindings:
            if bound == key:
                await self.run_action(binding.action)
                return True
        return False

    def _handled(self, event: events.Key) -> bool:
        key = (event.is_printable and event.character) or event.key
        # With vim's keys, Esc and a letter right after it may come as one.
        if self._vim is not None and len(key) == 5 and key.startswith("alt+"):
            return all([self._press("escape"), self._press(key[-1])])
        return self._press(key)

    def _press(self, key: str) -> bool:
        keys = self.keys
        if key in _CHOOSING:  # the message that the text has changed may come after keys that were typed quickly
            self._look()
        if self._completion.shown and self._completing(key):
            return True
        if key in keys.keys_of("newline"):
            self.insert("\n")
            return True
        if key in keys.keys_of("submit"):
            self._submit()
            return True
        if key == "?" and not self.text:
            self.post_message(self.HelpAsked())
            return True
        if self._vim is not None and self._vim.handles(key):
            self._show_vim()
            return True
        if action := next((action for action in LINE if key in keys.keys_of(action)), ""):
            self._readline.does(action)
            return True
        self._readline.wrote()
        return self._pressed_elsewhere(key)

    def _pressed_elsewhere(self, key: str) -> bool:
        """Keys that lead out of the line."""
        keys = self.keys
        if key in keys.keys_of("clear_input"):
            self._put_away_and_tell()
        elif key == "escape":
            self._escape()
        elif key in keys.keys_of("history_search"):
            self.post_message(self.SearchAsked())
        elif key in keys.keys_of("nav_up"):
            self._up()
        elif key in keys.keys_of("nav_down"):
            self._down()
        else:
            return key == "backspace" and self._delete_chip()
        return True

    def _completing(self, key: str) -> bool:
        match key:
            case "up" | "ctrl+p":
                self._completion.action_cursor_up()
            case "down" | "ctrl+n":
                self._completion.action_cursor_down()
            case "escape":
                self._completion.hide()
            case "tab" | "enter":
                self._complete(send=key == "enter")
            case _:
                return False
        return True

    def _complete(self, *, send: bool) -> None:
        start, word = self._completion.chosen()
        if send and word.startswith("/"):
            self.text = self.text if self._completion.offers(self.text) else word
            self._submit()
        else:
            self.accept(start, word)

    def accept(self, start: int, word: str) -> None:
        row, column = self.cursor_location
        before = "\n".join([*self.text.split("\n")[:row], self.text.split("\n")[row][:column]])
        begin = column - (len(before) - start)
        self.replace(f"{word} ", (row, begin), (row, column))
        self._completion.hide()

    def _submit(self) -> None:
        row, column = self.cursor_location
        if self.document.get_line(row)[:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            return
        shown = self.text.strip()
        if not shown:
            return
        self._completion.hide()
        text, images = self.pasted.expand(shown)
        self.text = ""
        self._begin_anew()
        if self._vim is not None:
            self._vim.start()
            self._show_vim()
        self.post_message(self.Submitted(text, images, shown))

    def _delete_chip(self) -> bool:
        """A chip goes as a whole."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        chip = next((chip for chip in self.pasted.chips() if before.endswith(chip)), "")
        if chip and self.selection.is_empty:
            self.delete((row, column - len(chip)), (row, column))
            return True
        return False

    def _escape(self) -> None:
        twice = monotonic() - self._escaped_at < TWICE
        self._escaped_at = monotonic()
        if self.has_class("running"):
            self._escaped_at = 0.0  # pressed once more, by somebody impatient, it leaves the draft alone
            self.post_message(self.Escaped())
        elif self.text and "escape escape" in self.keys.keys_of("clear_input"):
            if twice:
                self._put_away_and_tell()
            else:
                self.post_message(self.Hint("Esc again puts the draft away."))
        elif twice and not self.text:
            self._escaped_at = 0.0
            self.post_message(self.BackAsked())

    def _put_away_and_tell(self) -> None:
        if self.text:
            self.put_away()
            self.post_message(self.Hint("Put away. The up key brings it back."))

    def _up(self) -> None:
        if self.navigator.is_first_wrapped_line(self.cursor_location):
            self._recall(-1)
        else:
            self.action_cursor_up()

    def _down(self) -> None:
        if self.navigator.is_last_wrapped_line(self.cursor_location):
            self._recall(1)
        else:
            self.action_cursor_down()

    def _recall(self, step: int) -> None:
        if not self._past:
            self._past = self.typed_before()
            self._at = len(self._past)
        at = min(max(self._at + step, 0), len(self._past))
        if at == self._at:
            return
        self._changed[self._at] = self.text
        self._at = at
        self.text = self._changed.get(at, self._past[at] if at < len(self._past) else "")
        self.move_cursor(self.document.end)
