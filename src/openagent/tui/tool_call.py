"""A tool call: one line; opened, its live output, diff or result."""

import json
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.widget import Widget
from textual.widgets import Static

from openagent.client.diff import counted
from openagent.client.text import call_line, clean, one_line
from openagent.protocol.events import ToolFinished
from openagent.protocol.messages import CallEnd, ToolResultPart
from openagent.protocol.words import call_going_on, call_to_come, subject_of
from openagent.tui.diff import DiffView
from openagent.tui.foldable import Foldable

TAIL = 20_000
"""Characters of live output that are kept and shown; the full view has all of a result."""
MOST_LINES = 400
"""Lines of a result that are shown when it is opened."""
GLANCE = 12
"""Lines of a change that are shown without opening it."""
_COLOURS: dict[str, str] = {
    "done": "$success",
    "stopped": "$warning",
    "interrupted": "$warning",
    "not_run": "$foreground-muted",
}


class ToolCall(Foldable):
    DEFAULT_CSS = """
    ToolCall > .head { color: $text-muted; }
    ToolCall.running > .head { color: $foreground; }
    ToolCall > .glance { margin: 0 0 0 2; border-left: outer $panel; padding: 0 1; overflow: hidden; }
    ToolCall.rewound > .glance { display: none; }
    """

    def __init__(self, tool: str, arguments: dict[str, Any], subject: str = "") -> None:
        super().__init__()
        self._tool = tool
        self._arguments = arguments
        self._subject = subject or subject_of(tool, arguments)
        self._output = ""
        self._result: ToolResultPart | None = None
        self._line = ""
        self._ended: CallEnd = "done"
        self._asked_diff = ""
        self._shown: Static | None = None
        self._glance: DiffView | None = None

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield from self._at_a_glance()

    def headline(self) -> Content:
        if not self._line:
            if self.has_class("running"):
                return Content.assemble(("● ", "$primary"), one_line(call_going_on(self._tool, self._subject)))
            return Content.assemble(("○ ", "$foreground-muted"), one_line(call_to_come(self._tool, self._subject)))
        mark, rest = self._line[:1], self._line[1:]
        return Content.assemble((mark, _COLOURS.get(self._ended, "$error")), rest)

    def inside(self) -> Widget:
        if diff := self._diff:
            self._shown = None
            return DiffView(diff)
        self._shown = Static(self._contents(), markup=False)
        body = VerticalScroll(self._shown, can_focus=False)
        if self._tool == "shell":  # how it went stands at the end
            self.call_after_refresh(body.scroll_end, animate=False)
        return body

    def _at_a_glance(self) -> list[DiffView]:
        """What was changed is seen without opening the call; what was only asked for is not."""
        if self._glance is not None or self._result is None or not (diff := self._result.display.diff):
            return []
        if self._result.ended != "done":
            return []
        self._glance = DiffView(diff, headed=len(counted(diff)) > 1, most=GLANCE, classes="glance")
        self._glance.display = not self.opened
        return [self._glance]

    async def _show_glance(self) -> None:
        await self.mount_all(self._at_a_glance())

    async def action_fold(self) -> None:
        await super().action_fold()
        if self._glance is not None:
            self._glance.display = not self.opened

    async def on_click(self, event: Click) -> None:
        # Textual calls the handlers of all classes: the one above folds on a click on the line.
        if event.widget is self._glance is not None:
            await self.action_fold()

    @property
    def _diff(self) -> str:
        """What it changed, or would have changed."""
        if self._result is not None and self._result.ended in ("done", "failed"):
            return self._result.display.diff
        return self._asked_diff if self._result is None or self._result.ended in ("denied", "not_run") else ""

    def _contents(self) -> Content:
        if self._result is not None:
            return Content(_ended(clean(self._result.text)) or "(nothing)")
        if self._output:
            return Content(clean(self._output))
        return Content(clean(json.dumps(self._arguments, indent=2, ensure_ascii=False)))

    @property
    def title(self) -> str:
        return one_line(f"{self._tool} {'' if self._subject == self._tool else self._subject}")

    @property
    def whole(self) -> str:
        """Everything it was given and gave back."""
        if self._diff:
            return self._diff
        if self._result is not None:
            return self._result.text
        return self._output or json.dumps(self._arguments, indent=2, ensure_ascii=False)

    def asked(self, diff: str) -> None:
        """A person is shown what it would change."""
        self._asked_diff = diff
        self._update()

    def start(self, subject: str) -> None:
        self._subject = subject or self._subject
        self.add_class("running")
        self._update()

    def add_output(self, text: str) -> None:
        self._output = (self._output + text)[-TAIL:]
        if self.opened and self._shown is not None:
            self._shown.update(self._contents())

    def finish(self, event: ToolFinished) -> None:
        self._subject = self._subject or event.subject
        self._end(event.summary, event.ended, event.reason, event.duration_ms)

    def take_result(self, result: ToolResultPart) -> None:
        self._result = result
        if self.is_running:
            self.call_later(self._show_glance)
        if not self._line:
            self._end(result.display.summary, result.ended, result.reason, result.duration_ms)
        else:
            self._update()

    def _end(self, summary: str, ended: CallEnd, reason: str, duration_ms: float) -> None:
        self._ended = ended
        self._line = call_line(
            self._tool, self._subject, ended=ended, reason=reason, summary=summary, duration_ms=duration_ms
        )
        self.remove_class("running")
        self._update()

    def _update(self) -> None:
        self.refresh_head()
        if self.opened and self._shown is not None:
            if self._diff:  # drawn in another way
                self.call_later(self.reopen)
            else:
                self._shown.update(self._contents())


def _ended(text: str) -> str:
    """A long result is shown by its end, where the outcome stands."""
    shown = "\n".join(text[-TAIL:].split("\n")[-MOST_LINES:])
    if len(shown) == len(text):
        return text
    hidden = text.count("\n") - shown.count("\n")
    before = f"{hidden:,} lines" if hidden else f"{len(text) - len(shown):,} characters"
    return f"… {before} before this; the full view shows all\n{shown}"
