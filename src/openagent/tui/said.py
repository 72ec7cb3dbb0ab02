"""What a person said, and what the program notes between."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from openagent.client.text import clean
from openagent.tui.lit import lit


class Said(Static):
    DEFAULT_CSS = """
    Said { height: auto; margin: 1 0; padding: 0 2 0 1; border-left: thick $primary; background: $surface; }
    Said.waiting { border-left: thick $panel; color: $text-muted; }
    Said.rewound { border-left: thick $panel; color: $text-disabled; background: $background; }
    """

    def __init__(self, text: str, *, waiting: bool = False) -> None:
        label = "Next  " if waiting else ""
        self.said = text
        self._whole = Content.assemble((label, "bold $primary"), clean(text).strip("\n"))
        super().__init__(self._whole, markup=False)
        self.set_class(waiting, "waiting")

    def light(self, words: Sequence[str], *, now: bool) -> None:
        """What somebody looks for."""
        self.update(lit(self._whole, words, now=now), layout=False)


class Note(Static):
    DEFAULT_CSS = """
    Note { height: auto; padding: 0 2; color: $text-muted; }
    Note.warning { color: $warning; }
    Note.error { color: $error; }
    Note.rewound { color: $text-disabled; }
    """

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(clean(text), markup=False, classes=kind or None)
