"""How often a provider may be asked, kept in Redis for all workers: the time there counts, and one script decides.

Where Redis does not answer, a worker goes by what it knows itself: models are asked all the same.
"""

import asyncio
import logging
import random
from typing import Any

from redis import asyncio as redis
from redis.exceptions import RedisError

from openagent.plugins.provider_limits import OwnLimits

_PATIENCE_S = 1.0
_ASIDE_S = 5.0
"""After a failure Redis is not asked for so long, so that it holds up one request and not every one."""
_LONGEST_HOLD_S = 3600.0
_NEXT_START = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local held = tonumber(redis.call('GET', KEYS[2]) or '0')
local start = math.max(now, held, tonumber(redis.call('GET', KEYS[1]) or '0'))
local interval = tonumber(ARGV[1])
if interval > 0 then
  local lasts = math.ceil((start + interval - now) * 1000)
  redis.call('SET', KEYS[1], string.format('%.6f', start + interval), 'PX', lasts)
end
return {string.format('%.6f', start - now), held > now and 1 or 0}
"""
_HOLD = """
local time = redis.call('TIME')
local wanted = time[1] + time[2] / 1000000 + tonumber(ARGV[1])
if wanted > tonumber(redis.call('GET', KEYS[1]) or '0') then
  redis.call('SET', KEYS[1], string.format('%.6f', wanted), 'PX', math.ceil(tonumber(ARGV[1]) * 1000))
end
"""
_log = logging.getLogger(__name__)


class SharedLimits:
    def __init__(self, url: str) -> None:
        self._redis: Any = redis.from_url(url, socket_timeout=_PATIENCE_S, socket_connect_timeout=_PATIENCE_S)
        self._own: dict[str, OwnLimits] = {}
        self._aside_until = 0.0

    async def next_start(self, provider: str, interval: float) -> float:
        own = self._own.setdefault(provider, OwnLimits())
        answer = await self._ask(_NEXT_START, [f"openagent:pace:{provider}", f"openagent:hold:{provider}"], interval)
        if answer is None:
            return await own.next_start(provider, interval)
        pause, held = float(answer[0]), bool(answer[1])
        # Those who waited for the same moment do not all come in it.
        return pause + random.random() * min(pause, 1.0) if held else pause  # noqa: S311

    async def hold(self, provider: str, seconds: float) -> None:
        if seconds > 0:
            await self._ask(_HOLD, [f"openagent:hold:{provider}"], min(seconds, _LONGEST_HOLD_S))

    async def close(self) -> None:
        await self._redis.aclose()

    async def _ask(self, script: str, keys: list[str], *arguments: float) -> Any:
        """None: nobody answers."""
        now = asyncio.get_running_loop().time()
        if now < self._aside_until:
            return None
        try:
            return await self._redis.eval(script, len(keys), *keys, *arguments) or []
        except (RedisError, OSError) as problem:
            self._aside_until = now + _ASIDE_S
            _log.warning("provider rate limits not shared, this worker counts alone: %s", type(problem).__name__)
            return None
