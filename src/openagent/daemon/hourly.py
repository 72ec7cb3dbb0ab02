"""What is due once a day, or once a week: looked at every hour. What does it is loaded only then."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from openagent.protocol.errors import OpenAgentError

FIRST_LOOK = 600.0
"""Seconds after the start: whoever started the daemon has work for it first."""
LOOK_AGAIN = 3600.0
_log = logging.getLogger(__name__)


async def look_hourly(*dues: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(FIRST_LOOK)
    while True:
        await look(*dues)
        await asyncio.sleep(LOOK_AGAIN)


async def look(*dues: Callable[[], Awaitable[None]]) -> None:
    """Once."""
    for due in dues:
        try:
            await due()
        except OpenAgentError as problem:
            _log.warning("hourly maintenance task failed, retrying in an hour", extra={"reason": str(problem)})
        except Exception:  # the next hour may go better, and nothing else hangs on it
            _log.exception("hourly maintenance task failed, retrying in an hour")
