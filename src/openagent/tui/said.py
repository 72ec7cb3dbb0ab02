"""What a person said, and what the program notes between."""

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from openagent.client.text import clean
from openagent.tui.foldable import Foldable
from openagent.tui.lit import lit, places

LONG = 16
"""Lines of a message from which on it is folded."""
MOST_LINES = 2000
_HEAD = 200


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


class LongSaid(Foldable):
    """One line of a message that is long, a pasted log perhaps, and how much more there is; opened, all of it."""

    DEFAULT_CSS = """
    LongSaid { margin: 1 0; padding: 0 2 0 1; border-left: thick $primary; background: $surface; }
    LongSaid > .body { border-left: none; margin: 0; padding: 0; }
    LongSaid.rewound { border-left: thick $panel; color: $text-disabled; background: $background; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said = text
        self._lines = clean(text).strip("\n").split("\n")

    def headline(self) -> Content:
        fold = f"  ▾ {len(self._lines):,} lines" if self.opened else f"  ▸ {len(self._lines) - 1:,} more lines"
        return Content.assemble(self._lines[0][:_HEAD], (fold, "$foreground-muted"))

    def inside(self) -> Widget:
        shown = self._lines[1 : MOST_LINES + 1]
        left = len(self._lines) - 1 - len(shown)
        more = [f"… {left:,} more lines were sent"] if left else []
        return VerticalScroll(Static("\n".join([*shown, *more]), markup=False), can_focus=False)

    async def action_fold(self) -> None:
        await super().action_fold()
        self.refresh_head()

    def light(self, words: Sequence[str], *, now: bool) -> None:
        """What somebody looks for."""
        self.set_class(now and any(places(line, words) for line in self._lines), "found")


class Note(Static):
    DEFAULT_CSS = """
    Note { height: auto; padding: 0 2; color: $text-muted; }
    Note.warning { color: $warning; }
    Note.error { color: $error; }
    Note.rewound { color: $text-disabled; }
    """

    def __init__(self, text: str, kind: str = "") -> None:
        super().__init__(clean(text), markup=False, classes=kind or None)
