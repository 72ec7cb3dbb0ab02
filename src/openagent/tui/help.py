"""`?` and `/help`: every command and every key."""

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
from openagent.tui.keys import ACTIONS, FIXED, GROUPS, Action, Keys

_NAMES = {",": "  ", "escape": "esc", "underscore": "_", "slash": "/", "left": "←", "right": "→"}


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

    def __init__(self, keys: Keys, commands: Sequence[Command], *, commands_first: bool = False) -> None:
        super().__init__()
        self._commands_first = commands_first
        self._keys = keys
        self._commands = commands

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = "Commands and keys" if self._commands_first else "Keys and commands"
            commands = [(f"/{command.name} {command.takes}".strip(), command.help) for command in self._commands]
            tables = [*self._groups().items()]
            tables.insert(0 if self._commands_first else len(tables), ("Commands", commands))
            for place, (group, rows) in enumerate(tables):
                title = f"\n{group}" if place else group
                yield Static(Content.styled(title, "bold $primary"), markup=False)
                yield Static(_table(rows), markup=False)
            if self._keys.problems:
                problems = clean("\n".join(self._keys.problems))
                yield Static(Content.styled(f"\n{problems}", "$warning"), markup=False)

    def _groups(self) -> dict[str, list[tuple[str, str]]]:
        """Every key there is, from the one table of them."""
        bound = [Action(self._keys.bound[name], action.meaning, action.group) for name, action in ACTIONS.items()]
        groups: dict[str, list[tuple[str, str]]] = {}
        for action in [*FIXED, *bound]:
            if action.keys:
                groups.setdefault(action.group, []).append((_shown(action.keys), action.meaning))
        return {group: groups[group] for group in GROUPS}

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "q", "question_mark", "f1"):
            event.stop()
            self.dismiss(None)


def _shown(keys: str) -> str:
    for long, short in _NAMES.items():
        keys = keys.replace(long, short)
    return keys


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    """Two columns, each wrapped for itself."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", max_width=24)
    table.add_column()
    for key, what in rows:
        table.add_row(Text(clean(key)), Text(clean(what)))
    return table
