"""A line above every tab: the connection is lost and when it is tried again, the daemon is silent, or all is well."""

import time

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from openagent.client.reconnect import Trouble
from openagent.client.text import one_line

BEAT = 0.5
SHOWN_BACK = 3.0
"""Seconds for which it says that all is well again."""


class Banner(Static):
    DEFAULT_CSS = """
    Banner { height: 1; padding: 0 1; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    Banner.shown { display: block; }
    Banner.lost { background: $error; color: $background; text-style: bold; }
    Banner.back { background: $success; color: $background; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._trouble: Trouble | None = None
        self._timer: Timer | None = None

    def show(self, trouble: Trouble | None) -> None:
        was_silent = self._trouble is not None and self._trouble.silent_since > 0
        self._trouble = trouble
        if self._timer is not None:
            self._timer.stop()
        self.add_class("shown")
        self.set_class(trouble is not None, "lost")
        self.set_class(trouble is None, "back")
        if trouble is None:
            back = "The daemon answers again" if was_silent else "Connected again"
            self.update(f"● {back}. Nothing was lost.")
            self._timer = self.set_timer(SHOWN_BACK, self._hide)
        else:
            self._count_down()
            self._timer = self.set_interval(BEAT, self._count_down)

    def _hide(self) -> None:
        self.remove_class("shown")

    def _count_down(self) -> None:
        if self._trouble is None:
            return
        if since := self._trouble.silent_since:
            silent = time.monotonic() - since
            self.update(f"● The daemon has not answered for {silent:.0f} s. What you send waits until it does.")
        else:
            left = self._trouble.again_at - time.monotonic()
            again = f"trying again in {left:.0f} s" if left >= 1 else "trying again …"
            self.update(Content(f"● connection lost, {again} {one_line(self._trouble.problem, 200)}"))
