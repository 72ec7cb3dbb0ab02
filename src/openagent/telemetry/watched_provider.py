"""A provider whose attempts are timed. It stands inside the retries: each attempt is seen, and how it ended."""

import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import cache
from typing import NamedTuple

from openagent.plugins.provider import Answer, ModelInfo, ModelRequest, Provider, ProviderError, StreamItem

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class Attempted(NamedTuple):
    """One attempt at a request, when it has ended."""

    provider: str
    request: ModelRequest
    """As it was sent."""
    seconds: float
    first: float | None
    """Seconds to the first piece of the answer."""
    cause: str
    """Why it failed; empty: it did not."""
    answer: Answer | None


@cache
def cause_of(problem: type[BaseException]) -> str:
    """`RateLimited` to `rate_limited`."""
    return _WORD.sub("_", problem.__name__).lower()


class WatchedProvider:
    scripted = False

    def __init__(
        self,
        inner: Provider,
        prepare: Callable[[ModelRequest], ModelRequest],
        ended: Callable[[Attempted], None],
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._prepare = prepare
        self._ended = ended

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        request = self._prepare(request)
        began = time.perf_counter()
        first: float | None = None
        ended = False

        def end(cause: str, answer: Answer | None = None) -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._ended(Attempted(self.name, request, time.perf_counter() - began, first, cause, answer))

        try:
            async with aclosing(self._inner.stream(request)) as items:
                async for item in items:
                    if first is None:
                        first = time.perf_counter() - began
                    if type(item) is Answer:  # who reads it comes back for no more
                        end("", item)
                    yield item
        except ProviderError as problem:
            end(cause_of(type(problem)))
            raise
        finally:
            end("cancelled")  # whoever asked has left, unless it ended before

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()
