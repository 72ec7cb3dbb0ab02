"""Fetching heavy libraries: `extras.*`."""

import asyncio
import time

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.extras import Extras
from openagent.protocol.events import PullProgress
from openagent.protocol.extras import ExtraInfo, ExtraInfos, ExtrasFetch, ExtrasList


class ExtrasService:
    def __init__(self, extras: Extras) -> None:
        self._extras = extras

    def handlers(self) -> list[Handler]:
        return [ExtrasList.handled_by(self._list), ExtrasFetch.handled_by(self._fetch)]

    async def _list(self, connection: Connection, op: ExtrasList) -> ExtraInfos:
        return ExtraInfos(await asyncio.to_thread(self._extras.list))

    async def _fetch(self, connection: Connection, op: ExtrasFetch) -> ExtraInfo:
        def tell(stage: str, done: int, total: int) -> None:
            now = time.time()
            connection.tell(
                PullProgress(op_id=op.id, at=now, model=op.name, stage=stage, done_bytes=done, total_bytes=total)
            )

        await self._extras.fetch(op.name, tell)
        return await asyncio.to_thread(self._extras.about, op.name)
