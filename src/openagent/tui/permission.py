"""What waits for a yes or a no: above the input, all of it within reach of the keys, answered with one of them."""

import json
from time import monotonic

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from openagent.client.diff import change_in, counted
from openagent.client.text import clean, one_line
from openagent.protocol.sessions import PermissionAsk
from openagent.protocol.words import LEAVING, about, call_to_come, is_known, left_out, ways_to_allow
from openagent.tui.clicks import Hints, hint
from openagent.tui.diff import DiffView

ARMED_AFTER = 0.3
"""Seconds in which a key that was meant for something else decides nothing."""
_AROUND = 5
"""Lines that stay, at least, for the tabs, the end of the conversation, the input and the status line."""
_LEAST = 3
_WORTH_SAYING = ("high", "critical")
_SCROLLING = ("up", "down", "home", "end")
"""No letters: those are for the input."""


class PermissionPanel(Vertical, can_focus=True):
    DEFAULT_CSS = """
    PermissionPanel {
        height: auto;
        margin: 0 1;
        padding: 0 1;
        border: round $warning;
        border-title-color: $warning;
        border-subtitle-color: $text-muted;
        background: $surface;
        &:focus { border: round $primary; border-title-color: $primary; }
        & > .what { height: auto; text-style: bold; }
        & > .body { height: auto; max-height: 9; scrollbar-size-vertical: 1; scrollbar-color: $primary 40%; }
        & > .risk { height: auto; color: $error; }
        & > .more { height: 1; color: $text-muted; display: none; }
        & > .more.shown { display: block; }
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
        Binding("v", "whole", "full screen"),
        *(Binding(key, f"go('{key}')", "scroll", show=False) for key in _SCROLLING),
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

    class Whole(Message):
        """All of it is wanted on the whole screen."""

        def __init__(self, panel: "PermissionPanel") -> None:
            super().__init__()
            self.panel = panel

    def __init__(self, ask: PermissionAsk) -> None:
        super().__init__()
        self.ask = ask
        self.border_title = "approve?"
        rule = f" · {ask.rule}" if ask.rule else ""
        self.border_subtitle = clean(f"{ask.risk} risk{rule}").replace("[", "\\[")
        self._ways = ways_to_allow((choice.id, choice.scope, choice.covers) for choice in ask.choices)
        self._shown_at = monotonic()
        self.reached = False
        """Somebody went here, by Tab or a click: its keys count beside a draft, too."""
        self._diff = ask.diff or change_in(ask.arguments)
        self._body = self._made_body()
        self._more = Static(markup=False, classes="more")
        self._keys = Hints(markup=False, classes="keys")
        self._roomy = True

    def on_blur(self) -> None:
        self.reached = False

    def on_mouse_down(self) -> None:
        self.reached = True

    def compose(self) -> ComposeResult:
        if what := self._what():
            yield Static(what, markup=False, classes="what")
        yield self._body
        yield self._more
        if untold := left_out(self.ask.more_lines, self.ask.more_files):
            yield Static(f"… {untold}", markup=False, classes="risk")
        if self.ask.reason and (self.ask.risk in _WORTH_SAYING or self.ask.tool in LEAVING):
            told = self.ask.reason if self.ask.tool in LEAVING else f"{self.ask.risk} risk: {self.ask.reason}"
            yield Static(clean(told), markup=False, classes="risk" if self.ask.risk in _WORTH_SAYING else "")
        yield Static(self._why(), markup=False, classes="why")
        yield self._keys
        yield Input(placeholder="deny, because … (the agent reads it; Esc goes back)")

    def on_mount(self) -> None:
        self.watch(self._body, "scroll_y", self._tell_place, init=False)
        self._make_room()

    def on_resize(self) -> None:
        self._make_room()

    def _make_room(self) -> None:
        """The answers are always in sight; what they are about has the rest, and its keys."""
        height = self.screen.size.height
        self._roomy = height >= 28 or self.has_class("explained")
        self._keys.update(self.answers())
        beside = [child for child in self.children if child not in (self._body, self._keys, self._more)]
        others = sum(child.outer_size.height for child in beside) + 3  # the frame, and where one is
        width = max(self.size.width - 4, 20)
        lines = sum(-(-max(len(line), 1) // width) for line in self.answers().plain.split("\n"))
        self._body.styles.max_height = max(height - max(_AROUND, height // 4) - others - lines, _LEAST)
        self.call_after_refresh(self._tell_place)

    def _tell_place(self, *_: object) -> None:
        """Where one is in it, when not all of it is in sight."""
        body = self._body
        count = body.virtual_size.height
        first, last = body.scroll_offset.y + 1, min(body.scroll_offset.y + body.size.height, count)
        if count > body.size.height > 0:
            self._more.update(f"lines {first}–{last} of {count} · ↑↓ PgUp PgDn scroll · v full screen")
        self._more.set_class(count > body.size.height > 0, "shown")

    @property
    def armed(self) -> bool:
        return monotonic() - self._shown_at >= ARMED_AFTER

    def wait_again(self) -> None:
        """Somebody was writing: a key meant for that decides nothing."""
        self._shown_at = monotonic()

    @property
    def _runs(self) -> bool:
        """A command stands for itself."""
        return about(self.ask.tool).words[0] == "run"

    def _what(self) -> Content | None:
        if self._runs:
            return None
        told = Content(clean(call_to_come(self.ask.tool, self.ask.summary)))
        files = counted(self._diff) if self._diff else []
        added, removed = sum(each.added for each in files), sum(each.removed for each in files)
        if files:
            told = Content.assemble(told, (f"  +{added}", "$success"), (f" −{removed}", "$error"))
        return told

    def _made_body(self) -> DiffView | VerticalScroll:
        if self._diff:
            many = len(counted(self.ask.diff)) > 1
            body = DiffView(self._diff, path=self._path, headed=many)
        else:
            text = self._text()
            body = VerticalScroll(Static(text, markup=False), can_focus=False)
            body.display = bool(text)
        body.add_class("body")
        return body

    @property
    def _path(self) -> str:
        return str(self.ask.arguments.get("path") or self.ask.summary)

    def _text(self) -> str:
        if self._runs:
            return clean(self.ask.summary)
        if is_known(self.ask.tool):  # its words and its subject say it all
            return ""
        return clean("\n".join(f"{name}: {_plain(value)}" for name, value in self.ask.arguments.items()))

    def _why(self) -> Content:
        arguments = "" if self._diff or self._runs else clean(json.dumps(self.ask.arguments, ensure_ascii=False))[:2000]
        rule = f"The rule that asks: {self.ask.rule}. " if self.ask.rule else ""
        return Content(f"{clean(self.ask.reason) or 'This mode asks first.'} {rule}\n{arguments}".strip())

    def answers(self, *, in_full: bool = False) -> Content:
        shown = {key: way for key, way in self._ways.items() if in_full or self._roomy or not key.isdigit()}
        lines = [hint(key, clean(covers), f"answer('{key}')") for key, (_, _, covers) in shown.items()]
        others = [hint("d", "deny", "answer('d')"), hint("D", "deny, saying why", "tell")]
        if not in_full:
            more = f", {len(self._ways) - len(shown)} more answers" if len(shown) < len(self._ways) else ""
            others += [hint("?", f"why{more}", "explain"), hint("v", "full screen", "whole")]
        return Content("\n").join([*lines, Content(" · ").join(others)])

    def counted(self, place: int, count: int) -> None:
        """Those that came later wait out of sight."""
        self.border_title = "approve?" if count == 1 else f"approve? {place} of {count}"
        self.display = place == 1

    @property
    def title(self) -> str:
        return one_line(call_to_come(self.ask.tool, self.ask.summary))

    @property
    def whole(self) -> str:
        return self._diff or self._text() or json.dumps(self.ask.arguments, indent=2, ensure_ascii=False)

    @property
    def path_of_whole(self) -> str:
        return self._path if self._diff else ""

    @property
    def _letters(self) -> set[str]:
        return {*self._ways, "d", "D", "v", "j", "k", "b"}

    @property
    def answered_by(self) -> set[str]:
        return {*self._ways, "d", "D"}

    def action_answer(self, key: str) -> None:
        if not self.armed or (key != "d" and key not in self._ways):
            return
        if key.isdigit() and not self._roomy:
            return  # nobody answers what they cannot see
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
        if event.character is not None and event.character.isalpha() and event.character not in self._letters:
            self._shown_at = monotonic()  # somebody writes: a letter of a word decides nothing
        if event.key == "escape" and self.has_class("telling"):
            event.stop()
            self.remove_class("telling")
            self.focus()

    def action_explain(self) -> None:
        self.toggle_class("explained")
        self.call_after_refresh(self._make_room)

    def action_whole(self) -> None:
        self.post_message(self.Whole(self))

    def answer_from(self, key: str | None) -> None:
        """What was answered in the full view."""
        if key == "D":
            self.action_tell()
        elif key is not None:
            self._roomy = True
            self.action_answer(key)

    # Scrolling

    def action_go(self, where: str) -> None:
        self.go(where)

    def go(self, where: str) -> bool:
        """Returns whether there is anywhere to go: what is in sight needs no scrolling."""
        body = self._body
        page = max(body.size.height - 1, 1)
        by = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -body.max_scroll_y}
        body.scroll_relative(y=by.get(where, body.max_scroll_y), animate=False)
        return body.max_scroll_y > 0


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
