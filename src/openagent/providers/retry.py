"""Trying again: with growing, random pauses, or as long as the provider asked for.

A failed attempt is announced with a `RetryNotice`. It may come after chunks were already shown: they belong to the
attempt that failed, and whoever shows them discards them. An answer is never stitched together from two attempts.

    AI_RETRY_ATTEMPTS     attempts in all, the first included (5; 1 never tries again)
    AI_RETRY_BASE_DELAY   seconds before the second attempt, at most (1.0); doubled every time
    AI_RETRY_MAX_DELAY    no pause of ours is longer (30.0); a provider's own `retry-after` may be
    AI_RETRY_LOG_SILENT   1, true or yes: retries are not logged
    AI_REQUEST_INTERVAL   least seconds between two requests to one provider (0)
"""

import asyncio
import logging
import math
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

from msgspec import Struct

from openagent.plugins.provider import (
    Answer,
    EmptyAnswer,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    RateLimited,
    RetryNotice,
    StreamItem,
)
from openagent.plugins.provider_limits import OwnLimits, ProviderLimits
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.providers.answer_check import sound

_TOLD_FROM_S = 2.0
"""Shorter pauses are nobody's business."""
_log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]


class RetryPolicy(Struct, frozen=True):
    attempts: int = 5
    base_delay: float = 1.0
    max_delay: float = 30.0
    log: bool = True
    interval: float = 0.0
    """Between the starts of two requests."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "RetryPolicy":
        usual = cls()
        return cls(
            attempts=max(1, int(_number(env, "AI_RETRY_ATTEMPTS", usual.attempts))),
            base_delay=_number(env, "AI_RETRY_BASE_DELAY", usual.base_delay),
            max_delay=_number(env, "AI_RETRY_MAX_DELAY", usual.max_delay),
            log=env.get("AI_RETRY_LOG_SILENT", "").lower() not in ("1", "true", "yes"),
            interval=_number(env, "AI_REQUEST_INTERVAL", usual.interval),
        )

    def delay(self, attempt: int, error: ProviderError, chance: float) -> float:
        """Full jitter: anything up to the ceiling, so that clients that failed together do not return together."""
        jitter = chance * min(self.max_delay, self.base_delay * 2 ** (attempt - 1))
        if error.retry_after is None:
            return jitter
        return error.retry_after + min(jitter, self.base_delay)


def _number(env: Mapping[str, str], name: str, usual: float) -> float:
    text = env.get(name, "")
    if not text:
        return usual
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise OpenAgentError(
            "config_error",
            f"{name} is {text!r}, which is not a number of at least 0.",
            hint=f"Unset or correct {name}.",
        )
    return number


def _in_turn(provider: str) -> ErrorInfo:
    return ErrorInfo("rate_limited", f"{provider} is asked no faster than it may be, and others come first.")


class RetryingProvider:
    """Wraps a provider; paces its requests and repeats those that may succeed the next time."""

    def __init__(
        self,
        inner: Provider,
        policy: RetryPolicy,
        *,
        limits: ProviderLimits | None = None,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`limits`: what is known of others who ask the same provider."""
        self.name = inner.name
        self.scripted = inner.scripted
        self._inner = inner
        self._policy = policy
        self._sleep = sleep
        self._chance = chance
        self._limits = limits or OwnLimits()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        was_empty = False
        after_results = bool(request.messages) and request.messages[-1].role == "tool"
        for attempt in range(1, self._policy.attempts + 1):
            pause = await self._limits.next_start(self.name, self._policy.interval)
            if pause > _TOLD_FROM_S:
                yield RetryNotice(self.name, attempt, self._policy.attempts, pause, _in_turn(self.name))
            if pause > 0:
                await self._sleep(pause)
            try:
                async with aclosing(self._inner.stream(request)) as items:
                    async for item in items:
                        yield sound(item, self.name, after_results=after_results) if isinstance(item, Answer) else item
                return
            except ProviderError as error:
                if isinstance(error, RateLimited) and error.retry_after:
                    await self._limits.hold(self.name, error.retry_after)
                is_empty = isinstance(error, EmptyAnswer)
                if not error.retryable or attempt == self._policy.attempts or (is_empty and was_empty):
                    raise
                was_empty = was_empty or is_empty
                notice = self._notice(attempt, error)
            yield notice
            await self._sleep(notice.delay_s)

    def _notice(self, attempt: int, error: ProviderError) -> RetryNotice:
        delay = self._policy.delay(attempt, error, self._chance())
        if self._policy.log:
            _log.warning(
                "attempt %d of %d failed, next in %.1f s: %s", attempt, self._policy.attempts, delay, error.info.message
            )
        return RetryNotice(self.name, attempt, self._policy.attempts, delay, error.info, usage=error.usage)

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()
