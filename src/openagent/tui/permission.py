"""What waits for a yes or a no: above the input, answered with one key."""

import json
from time import monotonic

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from openagent.client.text import clean
from openagent.protocol.sessions import PermissionAsk
from openagent.tui.clicks import Hints, hint
from openagent.tui.diff import change_in, coloured

ARMED_AFTER = 0.3
"""Seconds in which a key that was meant for something else decides nothing."""
_RISKS = {"low": "$success", "medium": "$warning", "high": "$error"}


class PermissionPanel(Vertical, can_focus=True):
    DEFAULT_CSS = """
    PermissionPanel {
        height: auto;
        max-height: 16;
        margin: 0 1;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        border-subtitle-color: $text-muted;
        background: $surface;
        &:focus { border: round $primary; border-title-color: $primary; }
        & > VerticalScroll { height: auto; max-height: 10; }
        & > .why { height: auto; color: $text-muted; display: none; }
        &.explained > .why { display: block; }
        & > Input, & > Input:focus { border: none; height: 1; padding: 0 1; background: $panel; display: none; }
        &.telling > Input { display: block; }
        &.telling > .keys { display: none; }
    }
    """
    BINDINGS = [
        Binding("a", "answer('once')", "allow once"),
        Binding("s", "answer('session')", "allow for this session"),
        Binding("A", "answer('always')", "always allow"),
        Binding("d", "answer('deny')", "deny"),
        Binding("D", "tell", "deny, and say why"),
        Binding("question_mark", "explain", "why"),
    ]

    class Answered(Message):
        def __init__(self, ask: PermissionAsk, answer: str, reason: str = "") -> None:
            super().__init__()
            self.ask = ask
            self.answer = answer
            """once, session, always or deny"""
            self.reason = reason

    def __init__(self, ask: PermissionAsk) -> None:
        super().__init__()
        self.ask = ask
        self.border_title = "approve?"
        rule = f" · {ask.rule}" if ask.rule else ""
        self.border_subtitle = clean(f"{ask.risk} risk{rule}").replace("[", "\\[")
        self._shown_at = monotonic()

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(self._what(), markup=False)
        yield Static(self._why(), markup=False, classes="why")
        yield Hints(self._keys(), markup=False, classes="keys")
        yield Input(placeholder="deny, because … (the agent reads it; Esc goes back)")

    @property
    def armed(self) -> bool:
        return monotonic() - self._shown_at >= ARMED_AFTER

    def _what(self) -> Content:
        tool = "" if self.ask.tool == "shell" else f"{self.ask.tool} "
        what = Content(clean(f"{tool}{self.ask.summary}"))
        diff = change_in(self.ask.arguments)
        return Content("\n").join([what, coloured(diff)]) if diff else what

    def _why(self) -> Content:
        arguments = clean(json.dumps(self.ask.arguments, indent=2, ensure_ascii=False))[:2000]
        return Content(f"{clean(self.ask.reason) or 'This mode asks first.'}\n{arguments}")

    def _keys(self) -> Content:
        answers = (("a", "once"), ("s", "session"), ("A", "always"), ("d", "deny"))
        hints = [hint(key, what, f"answer('{what}')") for key, what in answers]
        return Content(" · ").join([*hints, hint("D", "deny, saying why", "tell"), hint("?", "why", "explain")])

    def action_answer(self, answer: str) -> None:
        if self.armed:
            self.post_message(self.Answered(self.ask, answer))

    def action_tell(self) -> None:
        if self.armed:
            self.add_class("telling")
            self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self.ask, "deny", event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.has_class("telling"):
            event.stop()
            self.remove_class("telling")
            self.focus()

    def action_explain(self) -> None:
        self.toggle_class("explained")
