"""What the turn is doing right now: in one line above the input, for as long as it runs."""

import math
import time

from textual.constants import TEXTUAL_ANIMATIONS
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from openagent.client.text import one_line
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionInfo
from openagent.protocol.words import call_going_on
from openagent.tui.figures import tokens

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
BEAT = 0.125
_CHARACTERS_PER_TOKEN = 4
_LONGEST_DOING, _SHORTEST_DOING = 60, 8
_APART = 2.0
"""Seconds from which a turn is said to last longer than what it is doing."""


_END_OF_A_PAUSE = (e.StatusChanged, e.TextDelta, e.ThinkingDelta, e.MessageAdded, e.ProviderFailedOver, e.TurnCompleted)


class Activity(Static):
    DEFAULT_CSS = """
    Activity { height: 1; padding: 0 1; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    Activity.shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.interrupt = "esc"
        """The key that ends the turn, as people write it."""
        self._doing = ""
        self._calls: dict[str, tuple[str, float]] = {}
        """What each is doing, and since when."""
        self._since = 0.0
        self._before = 0
        """Tokens answered before this turn."""
        self._counted = 0
        self._streamed = 0
        """Characters of the answer that is coming: nobody has counted its tokens yet."""
        self._retry_at = 0.0
        """When the request is sent again that failed; 0: none waits."""
        self._awaited = ""
        """The MCP server that the turn waits for, until then."""
        self._until = 0.0
        self.retry = "f5"
        """The key that sends it now."""
        self._waits = False
        self._waits_since = 0.0
        self._timer: Timer | None = None

    def begin(self, info: SessionInfo, since: float) -> None:
        """A session is shown in whose turn somebody comes in, or none is running."""
        self._calls.clear()
        self._start(info, since)
        self.follow(info)

    def take(self, event: e.AnyEvent, info: SessionInfo) -> None:
        if isinstance(event, _END_OF_A_PAUSE):
            self._retry_at = 0.0
        match event:
            case e.TurnStarted():
                self._calls.clear()
                self._start(info, event.at)
            case e.TextDelta() | e.ThinkingDelta():
                self._streamed += len(event.text)
                self._doing = "answering" if isinstance(event, e.TextDelta) else "thinking"
            case e.UsageUpdated():
                self._streamed = 0
                self._counted = event.usage.tokens.output_tokens
            case e.ToolStarted():
                doing = one_line(call_going_on(event.tool, event.summary), _LONGEST_DOING)
                self._calls[event.call_id] = doing, event.at
            case e.ToolFinished():
                self._calls.pop(event.call_id, None)
                self._doing = "thinking"
            case e.RetryScheduled():
                self._doing = "retrying"
                self._retry_at = event.at + event.delay_s if event.delay_s else 0.0
            case e.McpServerLate():
                self._awaited = event.server if event.state == "awaited" else ""
                self._until = event.at + event.seconds
            case e.TurnCompleted():
                self._calls.clear()
            case _:
                return

    def follow(self, info: SessionInfo) -> None:
        """Shown while the session is at work; what waits for the person does not spin."""
        runs = info.status in ("thinking", "executing_tool", "waiting_approval")
        waits = info.status == "waiting_approval"
        if waits and not self._waits:
            self._waits_since = time.time()
        self._waits = waits
        if runs != self.has_class("shown"):
            self.set_class(runs, "shown")
            if runs and self._timer is None:
                self._timer = self.set_interval(BEAT, self._draw)
            elif not runs and self._timer is not None:
                self._timer.stop()
                self._timer = None
        if runs:
            self._draw()

    def _start(self, info: SessionInfo, since: float) -> None:
        self._doing, self._since, self._streamed, self._retry_at = "thinking", since, 0, 0.0
        self._before = self._counted = info.usage.tokens.output_tokens

    def _draw(self) -> None:
        if not self.screen.is_current or not self.is_on_screen:
            return
        seconds = max(time.time() - self._since, 0.0)
        self.update(self._line(seconds))

    def _line(self, seconds: float) -> Content:
        still = self._waits or TEXTUAL_ANIMATIONS == "none"
        mark = "◆" if self._waits else "●" if still else FRAMES[int(seconds / BEAT) % len(FRAMES)]
        colour = "$warning" if self._waits else "$primary"
        answered = self._counted - self._before + self._streamed // _CHARACTERS_PER_TOKEN
        own = self._own(seconds)
        spans = [_span(own), *([f"turn {_span(seconds)}"] if seconds - own >= _APART and not self._waits else [])]
        facts = [*spans, *([f"↓ {tokens(answered)} tokens"] if answered > 0 else [])]
        now = [(self.retry, "bold $text-muted"), (" now · ", "$text-muted")] if self._pause() else []
        rest = Content.assemble(
            (f" … {' · '.join(facts)} · ", "$text-muted"),
            *now,
            (self.interrupt, "bold $text-muted"),
            (" to interrupt", "$text-muted"),
        )
        # How to stop it is in sight on any screen.
        room = max(self.content_size.width - rest.cell_length - len(f"{mark} "), _SHORTEST_DOING)
        return Content.assemble((f"{mark} {one_line(self._told(), room)}", colour), rest)

    def _told(self) -> str:
        if self._waits:
            return "waiting for your answer"
        if pause := self._pause():
            return f"retrying in {_span(math.ceil(pause))}"
        if self._awaited and (left := self._until - time.time()) > 0:
            return f"waiting for the MCP server {self._awaited}, {_span(math.ceil(left))} at most"
        if len(self._calls) > 1:
            return f"{next(iter(self._calls.values()))[0]} and {len(self._calls) - 1} more"
        return next((doing for doing, _ in self._calls.values()), self._doing)

    def _pause(self) -> float:
        """Seconds until a request that failed is sent again."""
        return max(self._retry_at - time.time(), 0.0)

    def _own(self, seconds: float) -> float:
        """Those of what is told, out of all the seconds of the turn."""
        begun = next((at for _, at in self._calls.values() if at), self._since)
        since = self._waits_since if self._waits else begun
        return min(max(time.time() - since, 0.0), seconds)


def _span(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
