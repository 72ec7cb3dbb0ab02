"""From the event loop to a database thread and back, in a third of what an executor takes."""

import asyncio
import logging
from collections.abc import Callable, Hashable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

_MOST_TOGETHER = 64
_log = logging.getLogger(__name__)

T = TypeVar("T")


class Item(NamedTuple):
    """Something that may be done together with others of its kind, if each has another key."""

    together: Callable[[Sequence[Any]], Sequence[Exception | None]]
    """What is to be done with them all; tells of each what went wrong with it."""
    key: Hashable
    value: Any
    loop: asyncio.AbstractEventLoop
    told: Callable[[Exception | None], None]


class DatabaseThreads:
    """Does what it is asked for in that order; with more than one thread, several things at a time."""

    def __init__(self, name: str, count: int = 1) -> None:
        self._asked: SimpleQueue[Callable[[], None] | Item | None] = SimpleQueue()
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

    def run_together(
        self,
        together: Callable[[Sequence[T]], Sequence[Exception | None]],
        key: Hashable,
        value: T,
        told: Callable[[Exception | None], None],
    ) -> None:
        """With what others asked for meanwhile, in its place among all that was asked for. `told` is called on the
        event loop."""
        self._asked.put(Item(together, key, value, asyncio.get_running_loop(), told))

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
        work = self._asked.get()
        while work is not None:
            if isinstance(work, Item):
                work = self._work_together(work)
                continue
            work()
            del work  # and with it what it holds, while there is nothing else to do
            work = self._asked.get()

    def _work_together(self, first: Item) -> Callable[[], None] | Item | None:
        """Returns what comes next."""
        items, keys, following = [first], {first.key}, None
        while len(items) < _MOST_TOGETHER:
            try:
                following = self._asked.get_nowait()
            except Empty:
                break
            if not isinstance(following, Item) or following.together != first.together or following.key in keys:
                _do_together(items)
                return following
            items.append(following)
            keys.add(following.key)
        _do_together(items)
        del items, first, following
        return self._asked.get()


def _do_together(items: Sequence[Item]) -> None:
    try:
        problems = items[0].together([item.value for item in items])
    except Exception as problem:
        problems = [problem] * len(items)
    _tell(items[0].loop, _tell_all, items, problems)


def _tell_all(items: Sequence[Item], problems: Sequence[Exception | None]) -> None:
    for item, problem in zip(items, problems, strict=True):
        try:
            item.told(problem)
        except Exception:  # the others are told all the same
            _log.exception("database write succeeded, but its caller could not be notified")


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
