"""When sessions were used, by a clock that nobody can set back: the last one used is the newest, whatever the time."""

import time

_STEP_S = 0.000_01


class ActivityClock:
    def __init__(self) -> None:
        self._last = 0.0

    def begin(self, last: float) -> None:
        """With the newest time that is stored."""
        self._last = max(self._last, last)

    def now(self) -> float:
        self._last = max(time.time(), self._last + _STEP_S)
        return self._last
