"""The connection all tabs share. When it is lost, one of them makes it anew for all."""

import asyncio
from collections.abc import Awaitable, Callable

from openagent.client import Client, ConnectionLost
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ops import Done, Ping

RETRY_SECONDS = 0.25
Open = Callable[[bool], Awaitable[Client]]
"""Connect; start a daemon if there is none and that is wanted."""


class Link:
    def __init__(self, client: Client, open_: Open) -> None:
        self.client = client
        self._open = open_
        self._mending = asyncio.Lock()

    async def mend(self, lost: Client) -> None:
        """Returns when there is a connection again, however long that takes."""
        async with self._mending:
            if self.client is not lost:
                return
            # A daemon that said goodbye was stopped by somebody and stays so; one that died is started again.
            may_start = (await why_lost(lost)).info == ConnectionLost().info
            await lost.close()
            while True:
                try:
                    self.client = await self._open(may_start)
                    return
                except (OpenAgentError, OSError):
                    await asyncio.sleep(RETRY_SECONDS)


async def why_lost(client: Client) -> OpenAgentError:
    try:
        await client.request(Ping(id=client.next_id()), Done)
    except OpenAgentError as problem:
        return problem
    return ConnectionLost()
