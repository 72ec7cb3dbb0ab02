"""What may follow `/` and `@` in the input."""

import os
import re
from collections.abc import Sequence

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from openagent.client.text import clean, one_line
from openagent.tui.commands import COMMANDS, Command

SHOWN = 8
_NAMES = 32
"""Columns for a name and what follows it, at most."""
_FILE = re.compile(r"(?:^|\s)@([^\s@]*)$")


class FileChosen(Message):
    """Somewhere a file was picked that is to be named in the input."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path


class Completion(OptionList, can_focus=False):
    DEFAULT_CSS = """
    Completion { height: auto; max-height: 9; margin: 0 2; border: round $panel; background: $surface; display: none; }
    Completion.shown { display: block; }
    """

    class Clicked(Message):
        def __init__(self, start: int, word: str) -> None:
            super().__init__()
            self.start = start
            self.word = word

    def __init__(self) -> None:
        super().__init__(compact=True)
        self.files: Sequence[str] = ()
        self.commands: Sequence[Command] = COMMANDS
        self._start = 0
        self._before = ""
        """What was looked at last."""

    @property
    def shown(self) -> bool:
        return self.has_class("shown")

    def look(self, before_cursor: str) -> None:
        """Offer what fits the text before the cursor. What was chosen or put away for the same text stays so."""
        if before_cursor == self._before:
            return
        self._before = before_cursor
        options = self._fitting(before_cursor)
        if not options and not self.shown:
            return
        self.clear_options()
        self.add_options(options)
        self.set_class(bool(options), "shown")
        if options:
            self.highlighted = 0

    def _fitting(self, before_cursor: str) -> list[Option]:
        if before_cursor.startswith("/") and " " not in before_cursor:
            self._start = 0
            return _options(before_cursor[1:], self.commands)
        if match := _FILE.search(before_cursor):
            self._start = match.start(1) - 1
            wanted = match.group(1).lower()
            names = [name for name in self.files if wanted in name.lower()]
            names.sort(key=lambda name: (wanted not in os.path.basename(name).lower(), len(name)))
            return [Option(Content(clean(name)), id=f"@{name}") for name in names[:SHOWN]]
        return []

    def offers(self, word: str) -> bool:
        return any(option.id == word for option in self.options)

    def chosen(self) -> tuple[int, str]:
        """Where the word begins, and the word to put there."""
        option = self.get_option_at_index(self.highlighted or 0)
        return self._start, option.id or ""

    @on(OptionList.OptionSelected)
    def pick(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Clicked(self._start, event.option_id or ""))

    def hide(self) -> None:
        self.remove_class("shown")


def _options(typed: str, commands: Sequence[Command]) -> list[Option]:
    """Those that are called so first; then those that have another name like it."""
    fitting = [(command, command.name) for command in commands if command.name.startswith(typed)]
    for command in commands if typed else ():
        other = next((word for word in command.words if word.startswith(typed)), "")
        if other and not command.name.startswith(typed):
            fitting.append((command, other if other == typed else command.name))
    width = min(max((len(_written(command)) for command, _ in fitting), default=0), _NAMES)
    return [Option(_line(command, width), id=f"/{name}") for command, name in fitting]


def _written(command: Command) -> str:
    return one_line(f"{command.name} {command.takes}").rstrip()


def _line(command: Command, width: int) -> Content:
    """What they do stands below each other."""
    space = " " * max(width - len(_written(command)), 0)
    return Content.assemble(
        (f"/{clean(command.name)}", "bold"),
        (_written(command).removeprefix(clean(command.name)), "$primary"),
        (f"{space}  {one_line(command.help)}", "$foreground-muted"),
    )
