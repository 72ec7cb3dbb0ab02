"""The team's Redis lets in nobody without a password: what people and agents say passes through it."""

from typing import Any

from redis import asyncio as redis
from redis.asyncio.connection import parse_url
from redis.exceptions import RedisError

from openagent.protocol.errors import OpenAgentError
from openagent.team.frames import ops_of

_ANSWERS_WITHIN = 5.0
_HOW = 'Set `requirepass` in its redis.conf, and `redis = "redis://:PASSWORD@host:6379/0"` in config.toml.'


def require_password(url: str) -> None:
    if not parse_url(url).get("password"):
        raise OpenAgentError(
            "config_error",
            "The address of the team's Redis has no password, and without one whoever reaches it reads along.",
            hint=_HOW,
        )


async def require_closed(url: str) -> None:
    """Raises when it answers somebody who names no password. One that is not there yet is asked when it is."""
    stranger: Any = redis.from_url(url, socket_timeout=_ANSWERS_WITHIN, socket_connect_timeout=_ANSWERS_WITHIN)
    for known in ("username", "password"):
        stranger.connection_pool.connection_kwargs.pop(known, None)
    try:
        await stranger.xlen(ops_of("nobody"))
    except (RedisError, OSError):
        return
    finally:
        await stranger.aclose()
    raise OpenAgentError(
        "config_error",
        "The team's Redis lets in whoever reaches it: it asks for no password.",
        hint=_HOW,
    )
