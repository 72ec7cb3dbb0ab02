"""A circuit breaker: a provider that keeps failing is left alone for a while. It delays requests and ends none before
their patience has run out; where another model stands in, that one is asked at once.

What opens it is a provider that was seen failing for a while with no sign of life in between. A moment's trouble that
meets many sessions at once is one moment's trouble.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from openagent.plugins.provider import (
    ConnectionFailed,
    MalformedAnswer,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    ProviderOverloaded,
    ProviderTimeout,
    RetryNotice,
    StreamItem,
)
from openagent.providers.retry import Wait, wait

_COUNTED = (ConnectionFailed, ProviderTimeout, ProviderOverloaded)
"""What says something about the provider's health rather than about one request."""
_SHORTEST_WAIT_S = 0.1


class CircuitOpen(ProviderError):
    """The provider was not even asked."""


class CircuitBreaker:
    """Wraps a provider. After `threshold` failures in a row over at least `lasting` seconds requests wait for
    `cooldown` seconds; then one of them is let through to see whether the provider is back. When it is, all
    go on at once."""

    def __init__(
        self,
        inner: Provider,
        *,
        threshold: int = 8,
        lasting: float = 10.0,
        cooldown: float = 20.0,
        waits: int = 4,
        clock: Callable[[], float] = time.monotonic,
        wait: Wait = wait,
    ) -> None:
        """`waits`: how often one request waits before it is told that the provider is out of order."""
        self.name = inner.name
        self.scripted = inner.scripted
        self._inner = inner
        self._threshold = threshold
        self._lasting = lasting
        self._cooldown = cooldown
        self._waits = waits
        self._clock = clock
        self._wait = wait
        self._failures = 0
        self._failing_since = 0.0
        self._failed_at = 0.0
        self._open_until = 0.0
        self._waiting: set[asyncio.Event] = set()
        """Set whenever the circuit closes."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        refusals = 0
        while (pause := self._pause()) > 0:
            refusals += 1
            refusal = self._refusal(pause)
            if refusals > self._waits:
                raise refusal
            notice = RetryNotice(self.name, refusals, self._waits, pause, refusal.info, asked=False)
            self._waiting.add(notice.now)
            try:
                yield notice
                if (pause := self._pause()) > 0:
                    await self._wait(notice.now, max(_SHORTEST_WAIT_S, pause))
            finally:
                self._waiting.discard(notice.now)
            if notice.now.is_set():
                break  # the circuit is closed, or a person wants it tried now
        probe = self._begin_probe() if self._is_open else 0.0
        try:
            async with aclosing(self._inner.stream(request)) as items:
                async for item in items:
                    if self._failures:
                        self._alive()
                    yield item
        except _COUNTED:
            probe = 0.0
            self._failed()
            raise
        except ProviderError as problem:
            if not isinstance(problem, MalformedAnswer):
                # A refusal is a sign of life, be it for the rate, the key or the request.
                self._alive()
            raise
        finally:
            if probe and self._open_until == probe:
                # Nothing was learnt, as when it was cancelled: the next one tries.
                self._open_until = self._clock()

    @property
    def _is_open(self) -> bool:
        return self._open_until > 0

    def _pause(self) -> float:
        """Seconds until this request may be tried."""
        return self._open_until - self._clock() if self._is_open else 0.0

    def _begin_probe(self) -> float:
        """Whoever comes first after the pause tries for all; the others give that as much time again."""
        self._open_until = self._clock() + self._cooldown
        return self._open_until

    def _alive(self) -> None:
        self._failures = 0
        if self._is_open:
            self._open_until = 0.0
            for each in self._waiting:
                each.set()

    def _failed(self) -> None:
        now = self._clock()
        if not self._failures or (not self._is_open and now - self._failed_at > self._lasting + self._cooldown):
            self._failures, self._failing_since = 0, now
        self._failures += 1
        self._failed_at = now
        if self._is_open or (self._failures >= self._threshold and now - self._failing_since >= self._lasting):
            self._open_until = now + self._cooldown

    def _refusal(self, pause: float) -> CircuitOpen:
        seconds = self._clock() - self._failing_since
        return CircuitOpen(
            f"{self.name} failed {self._failures} times in a row within {seconds:.0f} seconds and is left alone for "
            f"{pause:.0f} seconds.",
            hint="Wait, or switch to another provider.",
            retry_after=pause,
        )

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()
