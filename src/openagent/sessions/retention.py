"""Sessions that rest longer than a person wants to keep them, and the room they leave in the database."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

import msgspec

from openagent.config.settings import RetentionSettings, size_in_bytes
from openagent.daemon.manager import SessionManager
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionInfo, SessionList, SessionUpdate
from openagent.store.compacting import Room, compact, room_in

_DAY = 86_400.0
_PAGE = 200
_log = logging.getLogger(__name__)


class Retention:
    def __init__(
        self, manager: SessionManager, settings: Callable[[], RetentionSettings], database: Path | None
    ) -> None:
        """`database` is SQLite's file; a server of its own keeps its room in order by itself."""
        self._manager = manager
        self._settings = settings
        self._database = database

    async def apply(self) -> None:
        settings, now = self._settings(), time.time()
        if settings.delete_days:
            async for info in self._resting(now - settings.delete_days * _DAY):
                await self._delete(info, f"it rested for {settings.delete_days} days")
        if settings.archive_days:
            await self._put_away(now - settings.archive_days * _DAY)
        if self._database is None:
            return
        if settings.max_database:
            await self._shrink(size_in_bytes(settings.max_database), now)
        if settings.vacuum and not any(session.busy for session in self._manager.all_loaded):
            await self._give_back()

    async def _put_away(self, since: float) -> None:
        async for info in self._resting(since):
            if not info.archived:
                change = SessionUpdate(id=f"retention-{uuid4().hex}", session=info.id, archived=True)
                await self._manager.update(await self._manager.get(info.id), change, {})

    async def _shrink(self, most: int, now: float) -> None:
        """Those that rest longest go first; what was used within the last day stays in any case."""
        async for info in self._resting(now - _DAY):
            if (await self._room()).used <= most:
                return
            await self._delete(info, "the database is larger than it may be")

    async def _delete(self, info: SessionInfo, why: str) -> None:
        try:
            await self._manager.delete(info.id, f"retention-{uuid4().hex}")
        except OpenAgentError as problem:
            _log.warning(
                "session could not be deleted by retention", extra={"session": info.id, "reason": str(problem)}
            )
        else:
            _log.info("session deleted by retention", extra={"session": info.id, "reason": why})

    async def _give_back(self) -> None:
        assert self._database is not None
        if not (await self._room()).is_worth_it:
            return
        try:
            less = await asyncio.to_thread(compact, str(self._database))
        except sqlite3.Error as problem:
            _log.warning("database could not be compacted", extra={"reason": str(problem)})
        else:
            _log.info("database compacted", extra={"bytes": less})

    async def _room(self) -> Room:
        assert self._database is not None
        return await asyncio.to_thread(room_in, str(self._database))

    async def _resting(self, since: float) -> AsyncIterator[SessionInfo]:
        """The one that rests longest first. Left alone: what works, waits for somebody or has messages waiting, and
        sessions brought from other agents."""
        found: list[SessionInfo] = []
        asked = SessionList(id="-", roots=True, archived=None, brought=False, limit=_PAGE, before=since)
        while page := await self._manager.list(asked):
            found += [info for info in page if info.is_at_rest]
            asked = msgspec.structs.replace(asked, before=page[-1].updated_at, before_id=page[-1].id)
        for info in reversed(found):
            loaded = self._manager.loaded(info.id)
            if loaded is None or not loaded.busy:
                yield info
