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
from openagent.protocol.words import LEAVING, about, call_to_come, ways_to_allow
from openagent.tui.clicks import Hints, hint
from openagent.tui.diff import change_in, coloured

ARMED_AFTER = 0.3
"""Seconds in which a key that was meant for something else decides nothing."""


class PermissionPanel(Vertical, can_focus=True):
    DEFAULT_CSS = """
    PermissionPanel {
        height: auto;
        max-height: 20;
        margin: 0 1;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        border-subtitle-color: $text-muted;
        background: $surface;
        &:focus { border: round $primary; border-title-color: $primary; }
        & > VerticalScroll { height: auto; max-height: 9; }
        & > .why { height: auto; color: $text-muted; display: none; }
        &.explained > .why { display: block; }
        & > Input, & > Input:focus { border: none; height: 1; padding: 0 1; background: $panel; display: none; }
        &.telling > Input { display: block; }
        &.telling > .keys { display: none; }
    }
    """
    BINDINGS = [
        Binding("a", "answer('a')", "allow once"),
        Binding("s", "answer('s')", "allow for this session"),
        Binding("A", "answer('A')", "always allow"),
        *(Binding(str(number), f"answer('{number}')", "allow more or less", show=False) for number in range(1, 7)),
        Binding("d", "answer('d')", "deny"),
        Binding("D", "tell", "deny, and say why"),
        Binding("question_mark", "explain", "why"),
    ]

    class Answered(Message):
        def __init__(self, ask: PermissionAsk, scope: str = "", choice: str = "", reason: str = "") -> None:
            super().__init__()
            self.ask = ask
            self.scope = scope
            """once, session or always; empty: denied"""
            self.choice = choice
            """Which of the ask's choices."""
            self.reason = reason

    def __init__(self, ask: PermissionAsk) -> None:
        super().__init__()
        self.ask = ask
        self.border_title = "approve?"
        rule = f" · {ask.rule}" if ask.rule else ""
        self.border_subtitle = clean(f"{ask.risk} risk{rule}").replace("[", "\\[")
        self._ways = ways_to_allow((choice.id, choice.scope, choice.covers) for choice in ask.choices)
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
        runs = about(self.ask.tool).words[0] == "run"  # a command stands for itself
        shown = self.ask.summary if runs else call_to_come(self.ask.tool, self.ask.summary)
        if self.ask.tool in LEAVING and self.ask.reason:
            shown = f"{shown}\n{self.ask.reason}"
        what = Content(clean(shown))
        diff = change_in(self.ask.arguments)
        return Content("\n").join([what, coloured(diff)]) if diff else what

    def _why(self) -> Content:
        arguments = clean(json.dumps(self.ask.arguments, indent=2, ensure_ascii=False))[:2000]
        return Content(f"{clean(self.ask.reason) or 'This mode asks first.'}\n{arguments}")

    def _keys(self) -> Content:
        lines = [hint(key, clean(covers), f"answer('{key}')") for key, (_, _, covers) in self._ways.items()]
        others = [hint("d", "deny", "answer('d')"), hint("D", "deny, saying why", "tell"), hint("?", "why", "explain")]
        return Content("\n").join([*lines, Content(" · ").join(others)])

    def action_answer(self, key: str) -> None:
        if not self.armed or (key != "d" and key not in self._ways):
            return
        name, scope, _ = self._ways.get(key, ("", "", ""))
        self.post_message(self.Answered(self.ask, scope, name if self.ask.choices else ""))

    def action_tell(self) -> None:
        if self.armed:
            self.add_class("telling")
            self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self.ask, reason=event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.has_class("telling"):
            event.stop()
            self.remove_class("telling")
            self.focus()

    def action_explain(self) -> None:
        self.toggle_class("explained")
