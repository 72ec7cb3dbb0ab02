"""Several daemons may share a store. This one says that it lives, and looks after what others left behind."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from openagent.plugins.store import Holder, Store
from openagent.protocol.errors import OpenAgentError

LEASE_S = 30.0
"""A daemon that gave no sign of life for so long has lost its sessions to whoever wants them."""
BEATS = 4
"""How often it gives one in that time."""
_log = logging.getLogger(__name__)


class StoreLease:
    def __init__(self, store: Store, home: Path, *, lease_s: float = LEASE_S) -> None:
        self._store = store
        self._lease_s = lease_s
        self.holder = _holder(home)
        self._beating: asyncio.Task[None] | None = None

    async def begin(self) -> float:
        """Before any session is touched. Returns when one was last used."""
        return await self._store.register(self.holder, lease_s=self._lease_s)

    def keep_up(self, look_after: Callable[[], Awaitable[None]], lost: Callable[[], Awaitable[None]]) -> None:
        """`look_after` is called with every sign of life, `lost` when one came too late."""
        self._beating = asyncio.create_task(self._beat(look_after, lost), name="presence")

    async def _beat(self, look_after: Callable[[], Awaitable[None]], lost: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(self._lease_s / BEATS)
            try:
                if not await self._store.renew():
                    await lost()
                await look_after()
            except OpenAgentError as problem:
                _log.warning("lease renewal failed, retrying", extra={"reason": str(problem)})

    async def rest(self) -> None:
        """No more signs of life; the last one is good for a while."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])

    async def end(self) -> None:
        """When nothing more is to be written."""
        try:
            await self._store.resign()
        except OpenAgentError as problem:
            _log.warning(
                "lease could not be released; other daemons wait until it expires", extra={"reason": str(problem)}
            )


def _holder(home: Path) -> Holder:
    """The folder itself tells homes apart: containers with one name and one path have others."""
    host, place = socket.gethostname(), home.stat()
    return Holder(
        id=uuid4().hex,
        host=host,
        pid=os.getpid(),
        home=str(home),
        place=f"{host}:{home}:{place.st_dev}:{place.st_ino}",
    )
