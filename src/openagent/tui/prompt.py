"""The input: several lines, history, completion, pasted things as chips, vim's keys for who wants them."""

from time import monotonic

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from openagent.protocol.messages import ImagePart
from openagent.tui.completion import Completion
from openagent.tui.keys import Keys
from openagent.tui.paste import Pasted, TooLarge
from openagent.tui.vim import Vim

TWICE = 0.6
"""Seconds between two presses that belong together."""


class Prompt(TextArea):
    DEFAULT_CSS = """
    Prompt {
        height: auto; min-height: 1; max-height: 8; margin: 0 1; padding: 0 1;
        border: none; border-left: thick $primary; background: $surface;
        &:focus { border: none; border-left: thick $primary; }
        &.running { border-left: thick $warning; }
        &.normal { border-left: thick $success; }
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

    class Left(Message):
        """Up from an empty input."""

    def __init__(self, keys: Keys, completion: Completion, *, vim: bool) -> None:
        super().__init__(placeholder="message, @file, /command, !shell", soft_wrap=True, highlight_cursor_line=False)
        self.cursor_blink = False
        self.keys = keys
        self.pasted = Pasted()
        self._vim = Vim(self) if vim else None
        self._past: list[str] = []
        self._at = 0
        self._draft = ""
        self._completion = completion
        self._escaped_at = 0.0

    def start_history(self, said: list[str]) -> None:
        self._past = said
        self._at = len(said)

    def use_vim(self, on: bool) -> None:
        self._vim = Vim(self) if on else None
        self._show_vim()

    def _show_vim(self) -> None:
        self.set_class(self._vim is not None and not self._vim.inserting, "normal")

    def put(self, text: str) -> None:
        """Something chosen elsewhere, at the cursor."""
        self.insert(text)
        self.focus()

    def on_text_area_changed(self) -> None:
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
        if self._handled(event):
            event.prevent_default()
            event.stop()
            return
        await super()._on_key(event)

    def _handled(self, event: events.Key) -> bool:
        key, keys = event.key, self.keys
        if self._completion.shown and self._completing(key):
            return True
        if key in keys.keys_of("newline"):
            self.insert("\n")
            return True
        if key in keys.keys_of("submit"):
            self._submit()
            return True
        if key == "question_mark" and not self.text:
            self.post_message(self.HelpAsked())
            return True
        if self._vim is not None and self._vim.handles((event.is_printable and event.character) or key):
            self._show_vim()
            return True
        if key in keys.keys_of("clear_input") and self.text:
            self.text = ""
            return True
        if key == "escape":
            self._escape()
            return True
        if key in keys.keys_of("nav_up") and self.cursor_location[0] == 0:
            return self._recall(-1)
        if key in keys.keys_of("nav_down") and self.cursor_location[0] == self.document.line_count - 1:
            return self._recall(1)
        if key == "backspace":
            return self._delete_chip()
        return False

    def _completing(self, key: str) -> bool:
        match key:
            case "up":
                self._completion.action_cursor_up()
            case "down":
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
        shown = self.text.strip()
        if not shown:
            return
        self._completion.hide()
        text, images = self.pasted.expand(shown)
        if not self._past or self._past[-1] != text:
            self._past.append(text)
        self._at, self._draft = len(self._past), ""
        self.text = ""
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
        if self.text:
            if twice and "escape escape" in self.keys.keys_of("clear_input"):
                self.text = ""
            return
        self.post_message(self.Escaped())

    def _recall(self, step: int) -> bool:
        if step < 0 and not self.text and not self._past:
            self.post_message(self.Left())
            return True
        if self._at >= len(self._past):
            self._draft = self.text
        at = min(max(self._at + step, 0), len(self._past))
        if at == self._at:
            return True
        self._at = at
        self.text = self._past[at] if at < len(self._past) else self._draft
        self.move_cursor(self.document.end)
        return True
