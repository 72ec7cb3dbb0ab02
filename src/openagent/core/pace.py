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
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_crowded(self) -> bool:
        return self._inside >= self._at_once

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        if self._inside >= self._at_once:
            await self._wait()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            self._let_in()

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        self._waiting.append(place)
        alarm = loop.call_later(_LONGEST_S, _let_in, place)
        try:
            await place
        finally:
            alarm.cancel()

    def _let_in(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return


def _let_in(place: "asyncio.Future[None]") -> None:
    if not place.done():
        place.set_result(None)
