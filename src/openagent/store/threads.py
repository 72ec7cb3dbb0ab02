"""From the event loop to a database thread and back, in a third of what an executor takes."""

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class DatabaseThreads:
    """Does what it is asked for in that order; with more than one thread, several things at a time."""

    def __init__(self, name: str, count: int = 1) -> None:
        self._asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A program that ends without closing its store is not held up: what was acknowledged is in the database.
        self._threads = [Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(count)]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        """The work is done also when the one who asked for it is cancelled meanwhile."""
        return await self._ask(work)

    async def run_soon(self, work: Callable[[], T], seconds: float) -> T:
        """Begun within this time, or not done at all: then it raises TimeoutError."""
        ticket = [True]  # whoever takes it decides

        def begin() -> T:
            if not _took(ticket):
                raise TimeoutError
            return work()

        done = self._ask(begin)

        def give_up() -> None:
            if _took(ticket):
                _fail(done, TimeoutError())

        alarm = asyncio.get_running_loop().call_later(seconds, give_up)
        try:
            return await done
        finally:
            alarm.cancel()

    def _ask(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Tells whoever waits within the same turn of the event loop, without a task between them: with many sessions
        at work, a turn of the loop takes milliseconds, and every event waits for it."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def work_and_tell() -> None:
            try:
                result = work()
            except Exception as problem:
                _tell(loop, _fail, done, problem)
            else:
                _tell(loop, _succeed, done, result)

        self._asked.put(work_and_tell)
        return done

    def soon(self, work: Callable[[], None]) -> None:
        """Nobody waits for it. It must not raise."""
        self._asked.put(work)

    def close(self) -> None:
        """What was asked for before is still done."""
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while work := self._asked.get():
            work()
            del work  # and with it what it holds, while there is nothing else to do


def _took(ticket: list[bool]) -> bool:
    try:
        return ticket.pop()
    except IndexError:
        return False


def _tell(loop: asyncio.AbstractEventLoop, outcome: Callable[..., None], *args: Any) -> None:
    try:
        loop.call_soon_threadsafe(outcome, *args)
    except RuntimeError:
        # The loop was closed meanwhile, and with it went everybody who waited.
        if not loop.is_closed():
            raise


def _succeed(done: "asyncio.Future[T]", result: T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: "asyncio.Future[Any]", problem: Exception) -> None:
    if not done.done():
        done.set_exception(problem)
