"""Codes and links that a person types or opens: so many wrong ones a minute of each person."""

import time
from collections import deque
from math import ceil

from openagent.protocol.errors import OpenAgentError

_MOST = 10
_SECONDS = 60.0


class WrongCodes:
    """Nobody but who tried them has to wait."""

    def __init__(self) -> None:
        self._of: dict[str, deque[float]] = {}

    def check(self, person: str) -> None:
        tried = self._of.get(person, ())
        left = tried[0] + _SECONDS - time.monotonic() if len(tried) == _MOST else 0.0
        if left > 0:
            raise OpenAgentError(
                "rate_limited",
                f"You have tried {_MOST} wrong codes or links within a minute.",
                hint=f"Try again in {ceil(left)} seconds.",
                retry_after=ceil(left),
            )

    def add(self, person: str) -> None:
        self._of.setdefault(person, deque(maxlen=_MOST)).append(time.monotonic())
