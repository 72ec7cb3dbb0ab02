"""What a model says: Markdown, drawn as it comes."""

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from time import monotonic

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from openagent.client.text import clean
from openagent.tui.lit import lit, places
from openagent.tui.markdown import Page

LONGEST_LINE = 10_000
"""Longer lines are cut for the eye: nobody reads them, and laying them out would hold everything up."""
FRAME = 0.025
"""Seconds from one drawing of a growing answer to the next; more when that takes long: keys get their turn."""
_SHARE = 4
"""A drawing is followed by a pause of that many times its length."""
_ALL_AT_ONCE = re.compile("[\x1b\x90-\x9f]|]:")
"""What only the whole text shows as it is meant: sequences that came in pieces, links explained further down."""


class Answer(Widget):
    DEFAULT_CSS = """
    Answer { height: auto; padding: 0 2 0 1; margin: 1 0; background: transparent; }
    Answer.rewound { color: $text-disabled; text-opacity: 50%; }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._said = text
        self._undrawn = ""
        self._next_drawing = 0.0
        self._drawing: Timer | None = None
        self._line_length = 0
        self._page = Page(self._fit(text))
        self._drawn: dict[int, Strip] = {}
        self._drawn_as: object = None
        self._lit: tuple[list[str], bool] = [], False

    @property
    def said(self) -> str:
        return self._said

    def feed(self, text: str) -> None:
        self._said += text
        self._undrawn += self._fit(text)
        if self._drawing is None and self._undrawn:
            self._drawing = self.set_timer(max(self._next_drawing - monotonic(), 0.001), self._draw)

    def _draw(self) -> None:
        self._drawing = None
        text, self._undrawn = self._undrawn, ""
        if not text:
            return
        began = monotonic()
        self._change(lambda: self._page.append(text))
        self._next_drawing = began + max(FRAME, _SHARE * (monotonic() - began))

    def _change(self, change: Callable[[], None]) -> None:
        """What stays as it is, is not drawn again."""
        height, settled = self._page.height, self._page.settled
        change()
        if self._page.height != height:
            self.refresh(layout=True)
        else:
            self.refresh(Region(0, settled, self.size.width, max(height - settled, 1)))

    def catch_up(self, whole: str) -> None:
        """The whole text so far, of which the beginning was shown already."""
        if whole.startswith(self._said):
            if rest := whole[len(self._said) :]:
                self.feed(rest)
        else:
            self._become(whole)

    def finish(self) -> None:
        if _ALL_AT_ONCE.search(self._said):
            self._become(self._said)
        elif self._drawing is not None:
            self._drawing.stop()
            self._draw()

    def _become(self, whole: str) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        self._said, self._undrawn, self._line_length = whole, "", 0
        self._page.become(self._fit(whole))
        self._drawn = {}
        self.refresh(layout=True)

    def light(self, words: Sequence[str], *, now: bool) -> None:
        """What somebody looks for."""
        if (wanted := (list(words), now)) != self._lit:
            self._lit, self._drawn = wanted, {}
            self.refresh()

    def first_lit(self) -> int:
        """The line in which what is looked for stands first."""
        lines = (y for y in range(self._page.height) if places(self._page.line(y).content.plain, self._lit[0]))
        return next(lines, 0)

    # What Textual asks

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._page.fit(width)
        return self._page.height

    def render_lines(self, crop: Region) -> list[Strip]:
        """What has settled is kept as it was drawn: an answer that grows is drawn by its end."""
        if (looks := (self.size.width, self.text_selection)) != self._drawn_as:
            self._drawn_as, self._drawn = looks, {}
        if crop.column_span != (0, self.size.width):
            return super().render_lines(crop)
        kept = [self._drawn[y] for y in takewhile(self._drawn.__contains__, crop.line_range)]
        _, rest = crop.split_horizontal(len(kept))
        strips = [*kept, *super().render_lines(rest)] if rest else kept
        self._drawn = {y: strip for y, strip in zip(crop.line_range, strips, strict=True) if y < self._page.settled}
        return strips

    def notify_style_update(self) -> None:
        self._drawn = {}
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        self._page.fit(self.content_size.width)
        style = self.visual_style
        if y >= self._page.height:
            return Strip.blank(self.content_size.width, style.rich_style)
        content = self._page.line(y).content
        if self._lit[0]:
            content = lit(content, self._lit[0], now=self._lit[1])
        if (selection := self.text_selection) is not None and (span := selection.get_span(y)) is not None:
            start, end = span
            marked = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            content = content.stylize(marked, start, len(content) if end < 0 else end)
        x = 0
        segments: list[Segment] = []
        for text, own in content.render(style, end="", parse_style=self._get_style):
            segments.append(Segment(text, (style + own).rich_style_with_offset(x, y)))
            x += len(text)
        return Strip(segments, content.cell_length)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """Lines that were broken to fit are whole again."""
        chosen: list[str] = []
        for y in range(self._page.height):
            if (span := selection.get_span(y)) is not None:
                line, (start, end) = self._page.line(y), span
                text = line.content.plain[: None if end < 0 else end]
                goes_on = chosen and line.joint != "\n"
                chosen += [line.joint if chosen else "", text[max(start, line.indent) if goes_on else start :].rstrip()]
        return "".join(chosen), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

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
