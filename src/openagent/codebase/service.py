"""The code index: `index.*`."""

import asyncio
import logging
import time
from contextlib import aclosing
from pathlib import Path

import msgspec

from openagent.codebase.model import set_up
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.index.code_index import CodeIndex
from openagent.plugins.extras import Extras
from openagent.plugins.index import OnProgress
from openagent.plugins.package_install import size_of
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import IndexProgress, IndexUpdated
from openagent.protocol.index import (
    CodeHits,
    CodeMap,
    CodeSymbols,
    IndexAsk,
    IndexBuild,
    IndexBuilt,
    IndexInfo,
    IndexMap,
    IndexReady,
    IndexSearch,
    IndexSetup,
    IndexSymbols,
    IndexWatch,
)
from openagent.protocol.op import Done

MAX_HITS = 100
MAX_MAP_TOKENS = 100_000
_log = logging.getLogger(__name__)


class IndexService:
    def __init__(self, index: CodeIndex, extras: Extras) -> None:
        self._index = index
        self._extras = extras
        self._setting_up = asyncio.Lock()
        self._stage = ""

    def handlers(self) -> list[Handler]:
        return [
            IndexBuild.handled_by(self._build),
            IndexSearch.handled_by(self._search),
            IndexSymbols.handled_by(self._symbols),
            IndexMap.handled_by(self._map),
            IndexAsk.handled_by(self._status),
            IndexSetup.handled_by(self._set_up),
            IndexWatch.handled_by(self._watch),
        ]

    async def _build(self, connection: Connection, op: IndexBuild) -> IndexBuilt:
        tell = _teller(connection, op.id)
        workspace = _absolute(op.cwd)
        if self._index.wants_chroma:
            await self._fetched("chroma", tell)
        built = await self._index.build(workspace, tell)
        if self._index.without_grammar[workspace] and await self._fetched("grammars", tell):
            return await self._index.build(workspace, tell)
        return built

    async def _fetched(self, extra: str, tell: OnProgress) -> bool:
        """An index is built without it, too."""
        try:
            await self._extras.fetch(extra, tell)
        except OpenAgentError as problem:
            _log.warning(
                "extra could not be installed, continuing without it",
                extra={"name_of_extra": extra, "reason": str(problem)},
            )
            tell(f"Going on without {extra}: {problem.info.message}", 0, 0)
            return False
        return True

    async def _watch(self, connection: Connection, op: IndexWatch) -> Done:
        async with aclosing(self._index.watch(_absolute(op.cwd))) as watched:
            async for built in watched:
                if connection.closed:
                    break
                if built is not None:
                    facts = msgspec.structs.asdict(built)
                    connection.tell(IndexUpdated(op_id=op.id, at=time.time(), **facts))
        return Done()

    async def _search(self, connection: Connection, op: IndexSearch) -> CodeHits:
        found = await self._index.search(_absolute(op.cwd), op.query, min(max(op.limit, 1), MAX_HITS), op.by)
        return CodeHits(found)

    async def _symbols(self, connection: Connection, op: IndexSymbols) -> CodeSymbols:
        workspace = _absolute(op.cwd)
        if op.like:
            return CodeSymbols(await self._index.symbols_like(workspace, op.name))
        defined = await self._index.symbols(workspace, op.name)
        used = await self._index.references(workspace, op.name)
        return CodeSymbols(defined, used)

    async def _map(self, connection: Connection, op: IndexMap) -> CodeMap:
        tokens = min(max(op.max_tokens, 1), MAX_MAP_TOKENS)
        return await self._index.code_map(_absolute(op.cwd), tokens)

    async def _status(self, connection: Connection, op: IndexAsk) -> IndexInfo:
        return msgspec.structs.replace(await self._index.status(_absolute(op.cwd)), stage=self._stage)

    async def _set_up(self, connection: Connection, op: IndexSetup) -> IndexReady:
        if self._setting_up.locked():
            raise OpenAgentError("busy", "The model is being installed already.", hint="Wait for it to end.")
        tell = _teller(connection, op.id)

        def tell_and_keep(stage: str, done: int, total: int) -> None:
            self._stage = stage
            tell(stage, done, total)

        async with self._setting_up:
            try:
                await set_up(self._index.model, self._extras, tell_and_keep)
            finally:
                self._stage = ""
        return IndexReady(str(self._index.model), await asyncio.to_thread(size_of, self._index.model))


def _teller(connection: Connection, op_id: str) -> OnProgress:
    def tell(stage: str, done: int, total: int) -> None:
        connection.tell(IndexProgress(op_id=op_id, at=time.time(), stage=stage, done=done, total=total))

    return tell


def _absolute(path: str) -> Path:
    if not path.startswith("/"):
        raise OpenAgentError("invalid_argument", f"{path!r} is not an absolute path.", hint="Give the whole path.")
    return Path(path)
