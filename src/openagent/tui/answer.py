"""What a model says: Markdown, drawn as it comes."""

from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream

from openagent.client.text import clean

LONGEST_LINE = 10_000
"""Longer lines are cut for the eye: nobody reads them, and laying them out would hold everything up."""


class Answer(Markdown):
    DEFAULT_CSS = """
    Answer { height: auto; padding: 0 2 0 1; margin: 0 0 0 0; max-width: 100; background: transparent; }
    Answer.rewound { color: $text-disabled; text-opacity: 50%; }
    """

    def __init__(self, text: str = "") -> None:
        self._said = text
        self._stream: MarkdownStream | None = None
        self._line_length = 0
        super().__init__(self._fit(text), open_links=False)

    @property
    def said(self) -> str:
        return self._said

    async def feed(self, text: str) -> None:
        if self._stream is None:
            self._stream = Markdown.get_stream(self)
        self._said += text
        if shown := self._fit(text):
            await self._stream.write(shown)

    async def catch_up(self, whole: str) -> None:
        """The whole text so far, of which the beginning was shown already."""
        if whole.startswith(self._said):
            if rest := whole[len(self._said) :]:
                await self.feed(rest)
            return
        await self.finish()
        self._said, self._line_length = whole, 0
        await self.update(self._fit(whole))

    async def finish(self) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await stream.stop()

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
