"""One provider at several addresses, such as regions: where one does not answer, the next one does, at once.

One that failed is set aside for a while, longer every time, and then asked again by the next request: if it still
fails, that request goes on elsewhere.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import msgspec
from msgspec import Struct

from openagent.plugins.provider import (
    ConnectionFailed,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    ProviderOverloaded,
    ProviderTimeout,
    RetryNotice,
    StreamItem,
)

_ITS_FAULT = (ConnectionFailed, ProviderTimeout, ProviderOverloaded)
"""What says something about the address, and not about the request or the key."""
_SET_ASIDE_S, _LONGEST_ASIDE_S = 30.0, 300.0
_NEWEST_SHARE = 0.3


class _Address(Struct):
    url: str
    provider: Provider
    failures: int = 0
    """In a row."""
    aside_until: float = 0.0
    latency: float = 0.0
    """Seconds until an answer began, of late; 0: never asked."""


class SeveralEndpoints:
    scripted = False

    def __init__(
        self,
        addresses: Sequence[tuple[str, Provider]],
        *,
        nearest: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`nearest`: the one that answers soonest is asked first, and not the one that stands first."""
        self.name = addresses[0][1].name
        self._addresses = [_Address(url, provider) for url, provider in addresses]
        self._nearest = nearest
        self._clock = clock

    @property
    def first(self) -> Provider:
        """The one that would be asked now."""
        return self._in_order()[0].provider

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        order = self._in_order()
        for at, address in enumerate(order, 1):
            began, heard = self._clock(), False
            try:
                async with aclosing(address.provider.stream(request)) as items:
                    async for item in items:
                        if not heard:
                            heard = True
                            self._answers(address, self._clock() - began)
                        yield item
            except _ITS_FAULT as problem:
                self._failed(address)
                if at == len(order):
                    raise
                notice = self._notice(at, len(order), problem, order[at].url)
            else:
                return
            yield notice

    async def models(self) -> list[ModelInfo]:
        *others, last = self._in_order()
        for address in others:
            try:
                return await address.provider.models()
            except _ITS_FAULT:
                self._failed(address)
        return await last.provider.models()

    async def close(self) -> None:
        for address in self._addresses:
            await address.provider.close()

    def _in_order(self) -> list[_Address]:
        """Those that are set aside come last, the one whose time is over soonest before the others."""
        now = self._clock()

        def rank(address: _Address) -> tuple[float, float]:
            return max(address.aside_until - now, 0.0), address.latency if self._nearest else 0.0

        return sorted(self._addresses, key=rank)

    def _answers(self, address: _Address, seconds: float) -> None:
        address.failures, address.aside_until = 0, 0.0
        address.latency += (seconds - address.latency) * (_NEWEST_SHARE if address.latency else 1.0)

    def _failed(self, address: _Address) -> None:
        address.aside_until = self._clock() + min(_SET_ASIDE_S * 2**address.failures, _LONGEST_ASIDE_S)
        address.failures += 1

    def _notice(self, at: int, of: int, problem: ProviderError, next_url: str) -> RetryNotice:
        told = msgspec.structs.replace(problem.info, message=f"{problem.info.message} {next_url} is asked instead.")
        return RetryNotice(self.name, at, of, 0.0, told, usage=problem.usage)
