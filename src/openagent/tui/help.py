"""`?`: every key and every command."""

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from openagent.tui.commands import COMMANDS
from openagent.tui.keys import Keys

_FIXED = (
    ("a s A d ?", "answer a permission: once, session, always, deny, why"),
    ("esc", "end the running turn"),
    ("alt+1 … alt+9", "go to a tab; alone when the input has no focus"),
    ("o", "open or close a focused tool call or thought"),
    ("tab", "move between the input and the conversation"),
    ("@", "name a file"),
    ("!", "run a command in the session's shell"),
)


class Help(ModalScreen[None]):
    DEFAULT_CSS = """
    Help { align: center middle; background: $background 60%; }
    Help > VerticalScroll {
        width: 90%; max-width: 84; height: auto; max-height: 90%;
        border: round $primary; border-title-color: $primary; background: $surface; padding: 0 2;
    }
    Help Static { height: auto; }
    """

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = "Keys"
            rows = [(keys.split(",")[0], action.replace("_", " ")) for action, keys in self._keys.bound.items()]
            yield Static(_table([*_FIXED, *rows]), markup=False)
            yield Static(Content.styled("\nCommands", "bold $primary"), markup=False)
            yield Static(_table([(f"/{command.name}", command.help) for command in COMMANDS]), markup=False)
            if self._keys.problems:
                yield Static(Content.styled("\n" + "\n".join(self._keys.problems), "$warning"), markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "q", "question_mark", "f1"):
            event.stop()
            self.dismiss(None)


def _table(rows: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Content:
    wide = max(len(key) for key, _ in rows)
    return Content("\n").join([Content.assemble((key.ljust(wide + 2), "bold"), what) for key, what in rows])
