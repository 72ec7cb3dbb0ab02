"""Going on with another model when one cannot answer, in the middle of a session.

Every adapter takes any history, so the next model simply gets the same request. A session stays with the model that
helped until the first one may be back: providers' prompt caches dislike commuters.
"""

import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Literal

import msgspec
from msgspec import Struct

from openagent.plugins.provider import (
    ContextTooLong,
    FailoverNotice,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    QuotaExhausted,
    RequestRejected,
    RetryNotice,
    StreamItem,
)
from openagent.providers.retry import Wait, wait

_OWN_FAULT = (ContextTooLong, RequestRejected)
"""Another provider would say the same: the request is at fault."""
_REMEMBERED_SESSIONS = 1024
_SHORTEST_WAIT_S = 1.0
_TRIES = 5
"""Failed attempts after which the next model is asked."""


class _OutOfOrder(ProviderError):
    """The provider was not even asked."""


class ModelChoice(Struct, frozen=True):
    provider: Provider
    model: str

    @property
    def full_name(self) -> str:
        return f"{self.provider.name}/{self.model}"


class FailoverPolicy(Struct, frozen=True):
    on_quota: Literal["wait", "move_on"] = "move_on"
    """What to do when a plan is used up: wait until it resets, or ask the next model."""
    longest_wait_s: float = 6 * 3600
    stay_s: float = 300.0
    """How long a session keeps the model that helped before it tries the first again."""


class _Detour(Struct):
    model: str
    until: float


class FailoverProvider:
    """A provider, and the models that stand in for it, in order."""

    def __init__(
        self,
        first: Provider,
        chain: Sequence[ModelChoice],
        policy: FailoverPolicy | None = None,
        *,
        wait: Wait = wait,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = first.name
        self.scripted = first.scripted
        self._first = first
        self._chain = chain
        self._policy = policy or FailoverPolicy()
        self._wait = wait
        self._clock = clock
        self._detours: OrderedDict[str, _Detour] = OrderedDict()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        waiting = self._in_order(request)
        choice = waiting.pop(0)
        if choice.full_name != (first := f"{self.name}/{request.model}"):
            # Whoever pays for the request must know whom it goes to, also when nothing has failed this time.
            yield FailoverNotice(first, choice.full_name, f"{first} failed a short while ago")
        while True:
            try:
                asked = msgspec.structs.replace(request, model=choice.model)
                async with aclosing(choice.provider.stream(asked)) as items:
                    async for item in items:
                        if waiting and isinstance(item, RetryNotice) and not (item.asked and item.attempt < _TRIES):
                            # Nobody waits for one that is out of order while another could answer.
                            raise _OutOfOrder(item.error.message, hint=item.error.hint)
                        yield item
                return
            except ProviderError as error:
                pause = self._pause(error)
                if pause is None and (isinstance(error, _OWN_FAULT) or not waiting):
                    raise
                failed = error
            if pause is not None:
                notice = RetryNotice(choice.provider.name, 1, 1, pause, failed.info)
                yield notice
                await self._wait(notice.now, pause)
                continue
            left, choice = choice, waiting.pop(0)
            self._remember(request.session, choice, failed)
            yield FailoverNotice(left.full_name, choice.full_name, failed.info.message)

    def _in_order(self, request: ModelRequest) -> list[ModelChoice]:
        """All models, beginning with the one that the session is on."""
        first = ModelChoice(self._first, request.model)
        choices = [first, *(choice for choice in self._chain if choice.full_name != first.full_name)]
        detour = self._detours.get(request.session)
        if detour is None or self._clock() >= detour.until:
            return choices
        names = [choice.full_name for choice in choices]
        start = names.index(detour.model) if detour.model in names else 0
        return choices[start:] + choices[:start]

    def _pause(self, error: ProviderError) -> float | None:
        """Seconds until the quota resets, when that is what to wait for."""
        if self._policy.on_quota != "wait" or not isinstance(error, QuotaExhausted) or error.resets_at is None:
            return None
        seconds = max(_SHORTEST_WAIT_S, error.resets_at - self._clock())
        return seconds if seconds <= self._policy.longest_wait_s else None

    def _remember(self, session: str, choice: ModelChoice, error: ProviderError) -> None:
        if not session:
            return
        until = max(self._clock() + self._policy.stay_s, error.resets_at or 0.0)
        self._detours[session] = _Detour(choice.full_name, until)
        self._detours.move_to_end(session)
        if len(self._detours) > _REMEMBERED_SESSIONS:
            self._detours.popitem(last=False)

    async def models(self) -> list[ModelInfo]:
        return await self._first.models()

    async def close(self) -> None:
        await self._first.close()
