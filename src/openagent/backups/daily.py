"""The daemon's look at the clock: is a backup due? What makes one is loaded only then."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from openagent.protocol.backups import BackupMade
from openagent.protocol.errors import OpenAgentError

FIRST_LOOK = 600.0
"""Seconds after the start: whoever started the daemon has work for it first."""
LOOK_AGAIN = 3600.0
_log = logging.getLogger(__name__)


async def look_daily(wanted: Callable[[], bool], make_due: Callable[[], Awaitable[BackupMade]]) -> None:
    await asyncio.sleep(FIRST_LOOK)
    while True:
        try:
            if wanted() and (made := (await make_due()).backup):
                _log.info("a backup was made", extra={"backup": made.path, "bytes": made.bytes})
        except OpenAgentError as problem:
            _log.warning("no backup was made", extra={"reason": str(problem)})
        except Exception:  # the next day may go better, and nothing else hangs on it
            _log.exception("no backup was made")
        await asyncio.sleep(LOOK_AGAIN)
