"""What a model says: Markdown, drawn as it comes."""

import re
from functools import cache
from time import monotonic

from markdown_it import MarkdownIt
from textual.timer import Timer
from textual.widgets import Markdown

from openagent.client.text import clean
from openagent.tui.code import Code

LONGEST_LINE = 10_000
"""Longer lines are cut for the eye: nobody reads them, and laying them out would hold everything up."""
FRAME = 0.04
"""Seconds from one drawing of a growing answer to the next: keys get their turn between."""


_SEQUENCE = re.compile("[\x1b\x90-\x9f]")


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("gfm-like")


class Answer(Markdown):
    DEFAULT_CSS = """
    Answer { height: auto; padding: 0 2 0 1; margin: 1 0 0 0; max-width: 100; background: transparent; }
    Answer MarkdownBlock:dark > .code_inline, Answer MarkdownBlock:light > .code_inline {
        background: $panel; color: $foreground;
    }
    Answer.rewound { color: $text-disabled; text-opacity: 50%; }
    """

    BLOCKS = {**Markdown.BLOCKS, "fence": Code, "code_block": Code}

    def __init__(self, text: str = "") -> None:
        self._said = text
        self._undrawn = ""
        self._drawn_at = 0.0
        self._drawing: Timer | None = None
        self._line_length = 0
        super().__init__(self._fit(text), open_links=False, parser_factory=_parser)

    @property
    def said(self) -> str:
        return self._said

    def feed(self, text: str) -> None:
        self._said += text
        self._undrawn += self._fit(text)
        if self._drawing is None and self._undrawn:
            wait = max(self._drawn_at + FRAME - monotonic(), 0.001)
            self._drawing = self.set_timer(wait, self._draw)

    async def _draw(self) -> None:
        self._drawing = None
        text, self._undrawn = self._undrawn, ""
        if text and self.is_attached:
            await self.append(text)
        self._drawn_at = monotonic()

    async def catch_up(self, whole: str) -> None:
        """The whole text so far, of which the beginning was shown already."""
        if whole.startswith(self._said):
            if rest := whole[len(self._said) :]:
                self.feed(rest)
            return
        await self.finish()
        self._said, self._line_length = whole, 0
        await self.update(self._fit(whole))

    async def finish(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
        await self._draw()
        if _SEQUENCE.search(self._said) and self.is_attached:
            # A sequence that came in pieces left its printable rest behind.
            self._line_length = 0
            await self.update(self._fit(self._said))

    def _fit(self, text: str) -> str:
        """Fit to print, and no line longer than can be laid out."""
        shown = clean(text)
        if len(shown) + self._line_length <= LONGEST_LINE:
            newest = shown.rfind("\n")
            self._line_length = len(shown) - newest - 1 if newest >= 0 else self._line_length + len(shown)
            return shown
        kept: list[str] = []
        for place, line in enumerate(shown.split("\n")):
            self._line_length = 0 if place else self._line_length
            room = max(LONGEST_LINE - self._line_length, 0)
            kept.append(line if len(line) <= room else line[:room] + (" …" if room else ""))
            self._line_length += len(line)
        return "\n".join(kept)
