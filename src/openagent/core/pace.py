"""How much the daemon takes up at a time, when many sessions want to go on at once.

An event that was made waits for everything that was taken up before it: in the event loop, in the store. So a session
whose model has answered or whose command has ended goes on when there is room, in the order of coming; nothing has been
made of it yet. No work is saved by that, and none is lost: what is shown live, people's keys and new clients find a
loop that has little to do before them.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

AT_ONCE = 2
"""While one is stored, another is made ready. With more, none would be through any sooner."""
_LONGEST_S = 0.25
"""A store that hangs holds up those who wait for it, not those who wait for them."""


class Pace:
    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._inside = 0
        self._waiting: deque[asyncio.Future[bool]] = deque()

    @property
    def is_crowded(self) -> bool:
        return self._inside >= self._at_once

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        if self._inside >= self._at_once:
            await self._wait()
        else:
            self._inside += 1
        try:
            yield
        finally:
            self._leave()

    async def _wait(self) -> None:
        """Until somebody leaves their place to us, or for too long."""
        loop = asyncio.get_running_loop()
        place: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(place)
        alarm = loop.call_later(_LONGEST_S, _give, place, False)
        try:
            was_left = await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                self._leave()
            raise
        finally:
            alarm.cancel()
        if not was_left:
            self._inside += 1

    def _leave(self) -> None:
        """To whoever waits longest, so that nobody who comes now is before them."""
        while self._waiting:
            if _give(self._waiting.popleft(), True):
                return
        self._inside -= 1


def _give(place: "asyncio.Future[bool]", was_left: bool) -> bool:
    if place.done():
        return False
    place.set_result(was_left)
    return True
