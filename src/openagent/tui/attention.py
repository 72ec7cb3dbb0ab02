"""What is told outside the window: the terminal's title always, a bell and a note of the desktop when something waits
or ends and nobody is looking."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from openagent.client.text import one_line
from openagent.protocol.sessions import SessionInfo, Status
from openagent.protocol.words import in_words

KEEP_TITLE, TITLE_BACK = "\x1b[22;0t", "\x1b[23;0t"
"""Put the terminal's title on a stack, and take it from there."""
AWAY_AFTER = 30.0
"""Seconds without a key after which somebody may be elsewhere: not every terminal tells whether it is looked at."""
_MARKS = {
    "waiting_approval": "◆",
    "unanswered": "◆",
    "thinking": "●",
    "executing_tool": "●",
    "error": "!",
    "interrupted": "■",
}
_RUNNING = ("thinking", "executing_tool", "waiting_approval")
_PLAIN_NOTE = ("iTerm.app", "WezTerm", "ghostty", "kitty")
_TITLED_NOTE = ("foot", "rxvt")


class Shown(NamedTuple):
    """A tab, as far as it is told of."""

    id: str
    info: SessionInfo


class Attention:
    def __init__(self, env: Mapping[str, str], write: Callable[[str], None], place: str) -> None:
        self._write = write
        self._place = place
        self._terminal = _terminal(env)
        self._in_tmux = bool(env.get("TMUX"))
        self._states: dict[str, Status] = {}
        self._title = ""
        self._used_at = time.monotonic()
        self.alerts = True
        """Whether the person wants to be called."""
        self.looked_at = True
        """As the terminal tells it, if it does."""

    def used(self) -> None:
        """Somebody pressed a key."""
        self._used_at = time.monotonic()

    def follow(self, tabs: Sequence[Shown], front: SessionInfo | None) -> None:
        self._show_title([tab.info for tab in tabs], front)
        called = [said for tab in tabs if (said := self._news(tab))]
        self._states = {tab.id: tab.info.status for tab in tabs}
        away = not self.looked_at or time.monotonic() - self._used_at > AWAY_AFTER
        if called and self.alerts and away:
            self._write("\x07" + self._note(called[0]))

    def _news(self, tab: Shown) -> str:
        before, now = self._states.get(tab.id, tab.info.status), tab.info.status
        name = one_line(tab.info.name, 60) or "A session"
        if before == now or before not in _RUNNING:
            return ""
        if now == "waiting_approval":
            return f"{name}: waits for your answer"
        if now in _RUNNING:
            return ""
        return f"{name}: {'is done' if now == 'idle' else in_words(now)}"

    def _show_title(self, infos: Sequence[SessionInfo], front: SessionInfo | None) -> None:
        """The most urgent state of all tabs, and what is in front."""
        states = {info.status for info in infos}
        mark = next((mark for status, mark in _MARKS.items() if status in states), "○")
        name = one_line(front.name, 40) if front and front.name else "openagent"
        title = f"{mark} {name} · {one_line(self._place, 40)}"
        if title != self._title:
            self._title = title
            self._write(f"\x1b]0;{title}\x07")

    def _note(self, text: str) -> str:
        if self._terminal in _PLAIN_NOTE:
            note = f"\x1b]9;{text}\x07"
        elif self._terminal in _TITLED_NOTE:
            note = f"\x1b]777;notify;OpenAgent;{text.replace(';', ',')}\x07"
        else:
            return ""
        # tmux hands on what is wrapped so, if it is allowed to.
        return f"\x1bPtmux;{note.replace(chr(27), chr(27) * 2)}\x1b\\" if self._in_tmux else note


def _terminal(env: Mapping[str, str]) -> str:
    """The program that shows it; inside tmux, what it left in the environment."""
    if env.get("KITTY_WINDOW_ID"):
        return "kitty"
    if env.get("WEZTERM_PANE"):
        return "WezTerm"
    if env.get("GHOSTTY_RESOURCES_DIR"):
        return "ghostty"
    if env.get("LC_TERMINAL") == "iTerm2":
        return "iTerm.app"
    name = env.get("TERM_PROGRAM") or env.get("TERM", "")
    return next((known for known in (*_PLAIN_NOTE, *_TITLED_NOTE) if name.startswith(known)), "")
