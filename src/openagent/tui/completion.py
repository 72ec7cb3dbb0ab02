"""What may follow `/` and `@` in the input."""

import os
import re

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from openagent.client.text import clean
from openagent.tui.commands import COMMANDS

MAX_FILES = 5000
SHOWN = 8
_SKIPPED = {"node_modules", "__pycache__", "target", "dist", "build"}
_FILE = re.compile(r"(?:^|\s)@([^\s@]*)$")


def files_below(folder: str) -> list[str]:
    found: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        found += [os.path.relpath(os.path.join(here, name), folder) for name in sorted(names)]
        if len(found) >= MAX_FILES:
            break
    return found[:MAX_FILES]


class Completion(OptionList, can_focus=False):
    DEFAULT_CSS = """
    Completion { height: auto; max-height: 9; margin: 0 2; border: round $panel; background: $surface; display: none; }
    Completion.shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(compact=True)
        self._start = 0

    @property
    def shown(self) -> bool:
        return self.has_class("shown")

    def look(self, before_cursor: str, files: list[str]) -> None:
        """Offer what fits the text before the cursor."""
        options: list[Option] = []
        if before_cursor.startswith("/") and " " not in before_cursor:
            self._start = 0
            fitting = [command for command in COMMANDS if command.name.startswith(before_cursor[1:])]
            options = [
                Option(Content.assemble((f"/{c.name}", "bold"), (f"  {c.help}", "$foreground-muted")), id=f"/{c.name}")
                for c in fitting
            ]
        elif match := _FILE.search(before_cursor):
            self._start = match.start(1) - 1
            wanted = match.group(1).lower()
            fitting_files = [name for name in files if wanted in name.lower()]
            fitting_files.sort(key=lambda name: (wanted not in os.path.basename(name).lower(), len(name)))
            options = [Option(Content(clean(name)), id=f"@{name}") for name in fitting_files[:SHOWN]]
        self.clear_options()
        self.add_options(options)
        self.set_class(bool(options), "shown")
        if options:
            self.highlighted = 0

    def offers(self, word: str) -> bool:
        return any(option.id == word for option in self.options)

    def chosen(self) -> tuple[int, str]:
        """Where the word begins, and the word to put there."""
        option = self.get_option_at_index(self.highlighted or 0)
        return self._start, option.id or ""

    def hide(self) -> None:
        self.remove_class("shown")
