"""Finding what was said in any session: `messages.search`.

The index is brought up to date when somebody searches, and reads on in the background when there is much to read, so
that it costs nothing to those who never search.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Role
from openagent.protocol.search import FoundMessage, FoundMessages, MessagesSearch
from openagent.protocol.sessions import SessionInfo
from openagent.store.message_search import Hit, MessageSearch

PATIENCE = 0.15
"""Seconds that reading what is new may hold up a search."""
MOST_FOUND = 200
_CHUNK = 500
_SESSIONS = 500
_log = logging.getLogger(__name__)


class SearchService:
    def __init__(self, store: Store, home: Path) -> None:
        self._store = store
        self._home = home
        self._opened: MessageSearch | None = None
        self._reading: asyncio.Task[None] | None = None
        self._unread = 0

    def handlers(self) -> list[Handler]:
        return [
            MessagesSearch.handled_by(self._search),
        ]

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._opened is not None:
            await self._opened.close()

    @property
    def _index(self) -> MessageSearch:
        self._opened = self._opened or MessageSearch(self._home / "search.db")
        return self._opened

    async def _search(self, connection: Connection, op: MessagesSearch) -> FoundMessages:
        session = (await self._store.session(op.session)).info.id if op.session else ""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_new())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._reading)
        limit = min(max(op.limit, 1), MOST_FOUND)
        within = None if session else await connection.within()
        among = None if within is None else {info.id for info in await self._all_sessions(within)}
        hits = await self._index.search(op.query, session, limit, among)
        unread = 0 if self._reading.done() else max(self._unread, 1)
        return FoundMessages(await self._named(hits), unread)

    async def _named(self, hits: list[Hit]) -> list[FoundMessage]:
        names: dict[str, str | None] = {}
        for hit in hits:
            if hit.session not in names:
                names[hit.session] = await self._name(hit.session)
        return [
            FoundMessage(hit.session, name, hit.number, cast("Role", hit.role), hit.created_at, hit.excerpt)
            for hit in hits
            if (name := names[hit.session]) is not None
        ]

    async def _name(self, session: str) -> str | None:
        try:
            return (await self._store.session(session)).info.name
        except OpenAgentError as problem:
            if problem.info.code != "not_found":
                raise
            await self._index.forget(session)
            return None

    async def _read_new(self) -> None:
        try:
            indexed = await self._index.indexed()
            new = [info for info in await self._all_sessions() if info.message_count > indexed.get(info.id, 0)]
            self._unread = sum(info.message_count - indexed.get(info.id, 0) for info in new)
            for info in sorted(new, key=lambda info: info.updated_at):
                await self._read_session(info.id, indexed.get(info.id, 0))
        except OpenAgentError:
            _log.exception("messages could not be read for searching")

    async def _read_session(self, session: str, after: int) -> None:
        while messages := await self._store.messages(session, limit=_CHUNK, after=after):
            await self._index.add(session, messages)
            after = messages[-1].number
            self._unread = max(self._unread - len(messages), 0)
            if len(messages) < _CHUNK:
                return

    async def _all_sessions(self, within: Sequence[str] | None = None) -> list[SessionInfo]:
        found: list[SessionInfo] = []
        before, before_id = time.time() + 86_400, ""
        while page := await self._store.sessions(limit=_SESSIONS, before=before, before_id=before_id, within=within):
            found += page
            before, before_id = page[-1].updated_at, page[-1].id
        return found
