"""Retries: with growing, random pauses, or as long as the provider asked for, until the time for them is used up.

A failed attempt is announced with a `RetryNotice`. It may come after chunks were already shown: they belong to the
attempt that failed, and whoever shows them discards them. An answer is never stitched together from two attempts.

A server that is gone is waited for; a request that was answered wrongly, or half, is repeated a few times at most: each
repetition may cost as much as the first.

    AI_RETRY_TOTAL        seconds over which a failed request is retried in total (600)
    AI_RETRY_ATTEMPTS     attempts in total, the first included (as many as fit; 1 never retries)
    AI_RETRY_BASE_DELAY   seconds before the second attempt, at most (1.0); doubled every time
    AI_RETRY_MAX_DELAY    no pause of ours is longer (30.0); a provider's own `retry-after` may be
    AI_RETRY_LOG_SILENT   1, true or yes: retries are not logged
    AI_REQUEST_INTERVAL   least seconds between two requests to one provider (0)
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

from msgspec import Struct

from openagent.plugins.provider import (
    Answer,
    ConnectionFailed,
    EmptyAnswer,
    ModelInfo,
    ModelRequest,
    Provider,
    ProviderError,
    ProviderOverloaded,
    ProviderTimeout,
    RateLimited,
    RetryNotice,
    StreamItem,
)
from openagent.plugins.provider_limits import OwnLimits, ProviderLimits
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.providers.answer_check import sound
from openagent.providers.errors import LONG_WAIT_S

_TOLD_FROM_S = 2.0
"""Shorter pauses are nobody's business."""
_GONE = (ConnectionFailed, ProviderTimeout, ProviderOverloaded, RateLimited)
"""Before an answer has begun: the server cannot be reached, or refuses for now."""
_REPEATED = 5
"""Attempts at a request that was answered wrongly or half."""
_LEAST_PART = 0.5
"""Of a pause: the rest is left to chance, so that clients that failed together do not return together."""
_MANY = 60
"""Doublings after which any pause is the longest."""
_MOST_ATTEMPTS = 10_000
_log = logging.getLogger(__name__)

Wait = Callable[[asyncio.Event, float], Awaitable[None]]
"""Until the event is set, but no longer than these seconds."""


async def wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


class RetryPolicy(Struct, frozen=True):
    attempts: int = 31
    base_delay: float = 1.0
    max_delay: float = 30.0
    log: bool = True
    interval: float = 0.0
    """Between the starts of two requests."""
    total: float = LONG_WAIT_S
    """Over which a failed request is retried."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "RetryPolicy":
        usual = cls()
        base_delay = _number(env, "AI_RETRY_BASE_DELAY", usual.base_delay)
        max_delay = _number(env, "AI_RETRY_MAX_DELAY", usual.max_delay)
        total = _number(env, "AI_RETRY_TOTAL", usual.total)
        fitting = _attempts_within(total, base_delay, max_delay)
        return cls(
            attempts=max(1, int(_number(env, "AI_RETRY_ATTEMPTS", fitting))),
            base_delay=base_delay,
            max_delay=max_delay,
            log=env.get("AI_RETRY_LOG_SILENT", "").lower() not in ("1", "true", "yes"),
            interval=_number(env, "AI_REQUEST_INTERVAL", usual.interval),
            total=total,
        )

    def delay(self, attempt: int, error: ProviderError, chance: float, left: float = LONG_WAIT_S) -> float:
        """`left`: how much of the total time is left. What a provider asks for beyond it is cut short."""
        pause = _LEAST_PART + (1 - _LEAST_PART) * chance
        pause *= min(self.max_delay, self.base_delay * 2 ** min(attempt - 1, _MANY))
        if error.retry_after is None:
            return pause
        return min(error.retry_after + min(pause, self.base_delay), max(left, pause))

    def most(self, error: ProviderError, *, begun: bool) -> int:
        """Attempts at a request that failed like this; `begun`: in the middle of its answer."""
        return self.attempts if isinstance(error, _GONE) and not begun else min(self.attempts, _REPEATED)


def _attempts_within(total: float, base_delay: float, max_delay: float) -> int:
    """How many there are if each pause is as long as it is on average."""
    average = (1 + _LEAST_PART) / 2
    attempts, pause = 1, base_delay * average
    while pause <= total and attempts < _MOST_ATTEMPTS:
        total -= pause
        attempts, pause = attempts + 1, min(pause * 2, max_delay * average)
    return attempts


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
    return ErrorInfo("rate_limited", f"{provider} is asked no faster than it may be.")


class RetryingProvider:
    """Wraps a provider; paces its requests and repeats those that may succeed the next time."""

    def __init__(
        self,
        inner: Provider,
        policy: RetryPolicy,
        *,
        limits: ProviderLimits | None = None,
        wait: Wait = wait,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limits`: what is known of others who ask the same provider."""
        self.name = inner.name
        self.scripted = inner.scripted
        self._inner = inner
        self._policy = policy
        self._wait = wait
        self._chance = chance
        self._clock = clock
        self._limits = limits or OwnLimits()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        was_empty = False
        after_results = bool(request.messages) and request.messages[-1].role == "tool"
        attempt, failed_at, hurried = 1, 0.0, False
        while True:
            pause = 0.0 if hurried else await self._limits.next_start(self.name, self._policy.interval)
            if pause > 0:
                notice = RetryNotice(self.name, attempt, self._policy.attempts, pause, _in_turn(self.name))
                if pause > _TOLD_FROM_S:
                    yield notice
                await self._wait(notice.now, pause)
            begun = False
            try:
                async with aclosing(self._inner.stream(request)) as items:
                    async for item in items:
                        if isinstance(item, RetryNotice) and failed_at and self._left(failed_at) <= 0:
                            raise ProviderOverloaded(item.error.message, hint=item.error.hint)
                        begun = begun or not isinstance(item, RetryNotice)
                        yield sound(item, self.name, after_results=after_results) if isinstance(item, Answer) else item
                return
            except ProviderError as error:
                if isinstance(error, RateLimited) and error.retry_after:
                    await self._limits.hold(self.name, error.retry_after)
                is_empty = isinstance(error, EmptyAnswer)
                failed_at = failed_at or self._clock()
                left = self._left(failed_at)
                most = self._policy.most(error, begun=begun)
                if not error.retryable or attempt >= most or left <= 0 or (is_empty and was_empty):
                    raise
                was_empty = was_empty or is_empty
                notice = self._notice(attempt, most, error, left)
            yield notice
            await self._wait(notice.now, notice.delay_s)
            hurried = notice.now.is_set()  # a person's wish goes before what the provider asked for
            attempt += 1

    def _left(self, failed_at: float) -> float:
        return self._policy.total - (self._clock() - failed_at)

    def _notice(self, attempt: int, most: int, error: ProviderError, left: float) -> RetryNotice:
        delay = self._policy.delay(attempt, error, self._chance(), left)
        if self._policy.log:
            _log.warning(
                "model request failed (attempt %d of %d), retrying in %.1f s: %s",
                attempt,
                most,
                delay,
                error.info.message,
            )
        return RetryNotice(self.name, attempt, most, delay, error.info, usage=error.usage)

    async def models(self) -> list[ModelInfo]:
        return await self._inner.models()

    async def close(self) -> None:
        await self._inner.close()
