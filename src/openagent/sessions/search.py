"""Finding what was said in any session: `messages.search`.

The index is brought up to date when somebody searches, and reads on in the background when there is much to read, so
that it costs nothing to those who never search.
"""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import cast

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import SessionCount, Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Role
from openagent.protocol.search import FoundMessage, FoundMessages, MessagesSearch
from openagent.store.message_search import Hit, MessageSearch

PATIENCE = 0.15
"""Seconds that reading what is new may hold up a search."""
MOST_FOUND = 200
_CHUNK = 200
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

    def read_on(self) -> None:
        """What is new is read now, rather than when somebody searches."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_new())

    async def forget(self, session: str) -> None:
        """What was said in it is another thing by now."""
        await self._index.forget(session)

    async def _search(self, connection: Connection, op: MessagesSearch) -> FoundMessages:
        session = (await self._store.session(op.session)).info.id if op.session else ""
        self.read_on()
        assert self._reading is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._reading)
        limit = min(max(op.limit, 1), MOST_FOUND)
        within = None if session else await connection.within()
        among = None if within is None else {each.id for each in await self._store.session_counts(within=within)}
        hits = await self._index.search(op.query, session, limit, among)
        unread = 0 if self._reading.done() else max(self._unread, 1)
        return FoundMessages(await self._named(hits), unread)

    async def _named(self, hits: list[Hit]) -> list[FoundMessage]:
        names = await self._store.session_names(list({hit.session for hit in hits}))
        for gone in {hit.session for hit in hits} - names.keys():
            await self._index.forget(gone)
        return [
            FoundMessage(hit.session, name, hit.number, cast("Role", hit.role), hit.created_at, hit.excerpt)
            for hit in hits
            if (name := names.get(hit.session)) is not None
        ]

    async def _read_new(self) -> None:
        try:
            indexed = await self._index.indexed()
            new = [each for each in await self._store.session_counts() if each.messages > indexed.get(each.id, 0)]
            self._unread = sum(each.messages - indexed.get(each.id, 0) for each in new)
            for each in new:
                await self._read_session(each, indexed.get(each.id, 0))
        except OpenAgentError:
            _log.exception("indexing messages for search failed")

    async def _read_session(self, session: SessionCount, after: int) -> None:
        while messages := await self._store.messages(session.id, limit=_CHUNK, after=after):
            await self._index.add(session.id, messages, session.brought)
            after = messages[-1].number
            self._unread = max(self._unread - len(messages), 0)
            if len(messages) < _CHUNK:
                return
