"""How often a provider may be asked: what one who asks and all others with the same account must know of each other."""

import asyncio
from typing import Protocol


class ProviderLimits(Protocol):
    async def next_start(self, provider: str, interval: float) -> float:
        """Seconds until a request may begin, which is then this one's; the next may begin `interval` seconds after it.
        Does not raise."""
        ...

    async def hold(self, provider: str, seconds: float) -> None:
        """The provider said when it wants to be asked again. Does not raise."""
        ...


class OwnLimits:
    """Of one provider in one process. That the provider wants to be left alone is the business of whoever asked."""

    def __init__(self) -> None:
        self._next_start = 0.0

    async def next_start(self, provider: str, interval: float) -> float:
        if not interval:
            return 0.0
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + interval
        return start - now

    async def hold(self, provider: str, seconds: float) -> None:
        pass
