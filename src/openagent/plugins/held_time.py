"""Time that counts for nobody: that in which a person is being asked."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

_LOOK_AGAIN_S = 0.25


class HeldTime:
    def __init__(self) -> None:
        self._holds = 0
        self._since = 0.0
        self._before = 0.0
        self.refusal = ""
        """What the person's last answer was, if it was a no: why whoever asked could not go on."""

    @contextmanager
    def holding(self) -> Generator[None]:
        if not self._holds:
            self._since = time.monotonic()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                self._before += time.monotonic() - self._since

    @property
    def going_on(self) -> bool:
        return self._holds > 0

    @property
    def seconds(self) -> float:
        """All of it so far."""
        return self._before + (time.monotonic() - self._since if self._holds else 0.0)

    def call_later(self, seconds: float, over: Callable[[], None]) -> "Countdown":
        """Once so much time that counts has passed."""
        return Countdown(self, seconds, over)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncGenerator[None, None]:
        """As `asyncio.timeout` does, of time that counts."""
        async with asyncio.timeout(None) as scope:
            countdown = self.call_later(seconds, lambda: scope.reschedule(asyncio.get_running_loop().time()))
            try:
                yield
            finally:
                countdown.cancel()


class Countdown:
    def __init__(self, held: HeldTime, seconds: float, over: Callable[[], None]) -> None:
        self._held = held
        self._over = over
        self._loop = asyncio.get_running_loop()
        self._until = self._counted + seconds
        self._timer = self._loop.call_later(seconds, self._look)

    @property
    def _counted(self) -> float:
        return time.monotonic() - self._held.seconds

    def _look(self) -> None:
        left = self._until - self._counted
        if left <= 0:
            self._over()
        else:  # while a person thinks, what is left stays the same
            self._timer = self._loop.call_later(max(left, _LOOK_AGAIN_S if self._held.going_on else 0), self._look)

    def cancel(self) -> None:
        self._timer.cancel()
