"""What a model says: Markdown, drawn as it comes."""

from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream

from openagent.client.text import clean


class Answer(Markdown):
    DEFAULT_CSS = """
    Answer { height: auto; padding: 0 2 0 1; margin: 0 0 0 0; max-width: 100; background: transparent; }
    """

    def __init__(self, text: str = "") -> None:
        self._said = text
        self._stream: MarkdownStream | None = None
        super().__init__(clean(text), open_links=False)

    @property
    def said(self) -> str:
        return self._said

    async def feed(self, text: str) -> None:
        if self._stream is None:
            self._stream = Markdown.get_stream(self)
        self._said += text
        if shown := clean(text):
            await self._stream.write(shown)

    async def catch_up(self, whole: str) -> None:
        """The whole text so far, of which the beginning was shown already."""
        if whole.startswith(self._said):
            if rest := whole[len(self._said) :]:
                await self.feed(rest)
            return
        await self.finish()
        self._said = whole
        await self.update(clean(whole))

    async def finish(self) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await stream.stop()
