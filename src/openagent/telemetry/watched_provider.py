"""A provider whose attempts are timed. It stands inside the retries: each attempt is seen, and how it ended."""

import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import cache

from openagent.plugins.provider import Answer, ModelInfo, ModelRequest, Provider, ProviderError, StreamItem

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class Attempt:
    """One request under way."""

    __slots__ = ("_began", "_ended", "_on_end", "first", "provider", "request")

    def __init__(self, provider: str, request: ModelRequest, on_end: "OnEnd") -> None:
        self.provider = provider
        self.request = request
        self.first: float | None = None
        """Seconds to the first piece of the answer."""
        self._began = time.perf_counter()
        self._on_end = on_end
        self._ended = False

    def came(self) -> None:
        if self.first is None:
            self.first = time.perf_counter() - self._began

    def end(self, cause: str = "", answer: Answer | None = None) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(self, time.perf_counter() - self._began, cause, answer)


OnEnd = Callable[[Attempt, float, str, Answer | None], None]
"""Hears of an attempt, how long it took in seconds, why it failed (empty: it did not), and its answer."""


@cache
def cause_of(problem: type[BaseException]) -> str:
    """`RateLimited` to `rate_limited`."""
    return _WORD.sub("_", problem.__name__).lower()


class WatchedProvider:
    scripted = False

    def __init__(self, inner: Provider, begin: Callable[[str, ModelRequest], Attempt]) -> None:
        """`begin` is told the provider and the request, and may have it sent a little differently."""
        self.name = inner.name
        self._inner = inner
        self._begin = begin

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        attempt = self._begin(self.name, request)
        try:
            async with aclosing(self._inner.stream(attempt.request)) as items:
                async for item in items:
                    attempt.came()
                    if type(item) is Answer:
                        attempt.end(answer=item)
                    yield item
        except ProviderError as problem:
            attempt.end(cause_of(type(problem)))
            raise
        finally:
            attempt.end("cancelled")  # whoever asked has left, unless one of the above was first

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()
