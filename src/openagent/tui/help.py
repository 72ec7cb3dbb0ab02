"""`?`: every key and every command."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from openagent.client.text import clean
from openagent.tui.commands import Command
from openagent.tui.keys import MEANINGS, Keys

_FIXED = (
    ("a s A d D ?", "answer a permission: once, session, always, deny, deny saying why, why"),
    ("esc", "end the running turn"),
    ("alt+1 … alt+9", "go to a tab; alone when the input has no focus"),
    ("o", "open or close a focused tool call or thought"),
    ("tab", "move between the input and the conversation"),
    ("@", "name a file"),
    ("!", "run a command in the session's shell"),
)


class Help(ModalScreen[None]):
    DEFAULT_CSS = """
    Help { align: center middle; background: $veil; }
    Help > VerticalScroll {
        width: 90%; max-width: 84; height: auto; max-height: 90%;
        border: round $primary; border-title-color: $primary; background: $surface; padding: 0 0 0 2;
        scrollbar-gutter: stable; scrollbar-size-vertical: 1;
    }
    Help Static { height: auto; }
    """

    def __init__(self, keys: Keys, commands: Sequence[Command]) -> None:
        super().__init__()
        self._keys = keys
        self._commands = commands

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = "Keys"
            rows = [(_shown(keys), MEANINGS[action]) for action, keys in self._keys.bound.items()]
            yield Static(_table([*_FIXED, *rows]), markup=False)
            yield Static(Content.styled("\nCommands", "bold $primary"), markup=False)
            commands = [(f"/{command.name} {command.takes}".strip(), command.help) for command in self._commands]
            yield Static(_table(commands), markup=False)
            if self._keys.problems:
                problems = clean("\n".join(self._keys.problems))
                yield Static(Content.styled(f"\n{problems}", "$warning"), markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "q", "question_mark", "f1"):
            event.stop()
            self.dismiss(None)


def _shown(keys: str) -> str:
    return keys.replace(",", "  ").replace("escape", "esc")


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    """Two columns, each wrapped for itself."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", max_width=24)
    table.add_column()
    for key, what in rows:
        table.add_row(Text(clean(key)), Text(clean(what)))
    return table
