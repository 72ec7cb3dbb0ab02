"""One provider with several keys or logins: where one is refused or used up, the next one goes on."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from openagent.plugins.provider import (
    AuthenticationFailed,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RetryNotice,
    StreamItem,
)

T = TypeVar("T")
_NEXT_MAY_DO = (AuthenticationFailed, RateLimited, QuotaExhausted)


class Standing(Protocol):
    """What is known of credentials by now."""

    def usable(self, entry: str) -> bool: ...

    def worked(self, entry: str) -> None: ...

    def failed(self, entry: str, problem: ProviderError) -> None: ...


class Held(NamedTuple):
    """The provider with one of its credentials."""

    entry: str
    """Its name in the vault."""
    provider: Provider


class SeveralCredentials:
    scripted = False

    def __init__(self, held: Sequence[Held], standing: Standing) -> None:
        self.name = held[0].provider.name
        self._held = held
        self._standing = standing

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        waiting = self._in_order()
        for at, (entry, provider) in enumerate(waiting, 1):
            try:
                async with aclosing(provider.stream(request)) as items:
                    async for item in items:
                        yield item
            except _NEXT_MAY_DO as problem:
                self._standing.failed(entry, problem)
                if at == len(waiting):
                    raise
                words = f"{problem.info.message} {waiting[at].entry} goes on in place of {entry}."
                notice = RetryNotice(
                    self.name, at, len(waiting), 0.0, msgspec.structs.replace(problem.info, message=words)
                )
            else:
                self._standing.worked(entry)
                return
            yield notice

    async def models(self) -> list[ModelInfo]:
        return await self._first_that(lambda provider: provider.models())

    async def _first_that(self, ask: Callable[[Provider], Awaitable[T]]) -> T:
        *others, (_, last) = self._in_order()
        for entry, other in others:
            try:
                return await ask(other)
            except _NEXT_MAY_DO as problem:
                self._standing.failed(entry, problem)
        return await ask(last)

    def _in_order(self) -> list[Held]:
        """Those that are set aside come last: if nothing else does, they are asked again."""
        return sorted(self._held, key=lambda held: not self._standing.usable(held.entry))

    async def close(self) -> None:
        for held in self._held:
            await held.provider.close()
