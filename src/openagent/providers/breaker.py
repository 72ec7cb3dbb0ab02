"""A circuit breaker: a provider that keeps failing is left alone for a while, so that others can be asked at once."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from openagent.plugins.provider import (
    ConnectionFailed,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    ProviderOverloaded,
    ProviderTimeout,
    StreamItem,
)

_COUNTED = (ConnectionFailed, ProviderTimeout, ProviderOverloaded)
"""What says something about the provider's health rather than about one request."""


class CircuitOpen(ProviderError):
    """The provider was not even asked."""


class CircuitBreaker:
    """Wraps a provider. After `threshold` failures in a row it refuses for `cooldown` seconds, then lets one request
    through to see whether the provider is back."""

    def __init__(
        self,
        inner: Provider,
        *,
        threshold: int = 8,
        cooldown: float = 20.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = inner.name
        self.scripted = inner.scripted
        self._inner = inner
        self._threshold = threshold
        self._cooldown = cooldown
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        self._check()
        try:
            async with aclosing(self._inner.stream(request)) as items:
                async for item in items:
                    self._failures = 0
                    self._open_until = 0.0
                    yield item
        except _COUNTED:
            self._failures += 1
            if self._failures >= self._threshold:
                self._open_until = self._clock() + self._cooldown
            raise

    def _check(self) -> None:
        remaining = self._open_until - self._clock()
        if remaining > 0:
            raise CircuitOpen(
                f"{self.name} failed {self._failures} times in a row and is left alone for {remaining:.0f} seconds.",
                hint="Wait, or switch to another provider.",
                retry_after=remaining,
            )
        if self._failures >= self._threshold:
            # Whoever comes first after the pause tries; the others keep waiting for how that goes.
            self._open_until = self._clock() + self._cooldown

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()
