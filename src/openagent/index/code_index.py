"""The index of every workspace: built by a process of its own, searched here."""

import asyncio
import logging
import sqlite3
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from openagent.index import usefulness
from openagent.index.chroma import ChromaVectors, is_installed
from openagent.index.database import ELSEWHERE, Database
from openagent.index.embedding import Embedder, Meanings, is_set_up
from openagent.index.overview import overview
from openagent.index.processes import start
from openagent.index.watching import changes
from openagent.plugins.index import OnProgress
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.index import CodeHit, CodeMap, CodeReference, CodeSymbol, IndexBuilt, IndexInfo, SearchBy

T = TypeVar("T")
CANDIDATES = 50
_FUSION_RANK = 60
"""Reciprocal rank fusion: a hit counts 1 / (60 + rank) in each list it is on."""
_PASSED_OVER = 0.8
_SHOWN_ERROR = 300
_log = logging.getLogger(__name__)


class _Line(Struct):
    stage: str = ""
    done: int = 0
    total: int = 0
    built: IndexBuilt | None = None
    without: list[str] = []


def _all_readable(workspace: Path, path: str) -> bool:
    return True


class CodeIndex:
    def __init__(
        self,
        home: Path,
        *,
        model: Path | None = None,
        vectors: Literal["own", "chroma"] = "own",
        may_read: Callable[[Path, str], bool] = _all_readable,
    ) -> None:
        """`may_read` is asked for every file, by its path in the workspace, before anything of it is shown."""
        self._home = home
        self._may_read = may_read
        self.wants_chroma = vectors == "chroma"
        if self.wants_chroma and not is_installed():
            _log.warning("Chroma is not installed, vectors are kept in the index's own file")
        self.without_grammar: dict[Path, list[str]] = {}
        """Languages in a workspace whose grammar was not here when it was built."""
        self.model = model or home / "model"
        self._building: dict[Path, asyncio.Lock] = {}
        self._embedder: Embedder | None = None
        self._meanings: dict[Path, tuple[float, Meanings | ChromaVectors]] = {}
        self._embedding: dict[Path, asyncio.Task[None]] = {}

    @property
    def _chroma(self) -> bool:
        return self.wants_chroma and is_installed()

    def is_built(self, workspace: Path) -> bool:
        return self._file(workspace).exists()

    async def build(self, workspace: Path, progress: OnProgress | None = None) -> IndexBuilt:
        """Vectors follow in the background: text is found at once."""
        built = await self._run(workspace, [], progress)
        self._embed_behind(self._file(workspace))
        return built

    async def update(self, workspace: Path, paths: Sequence[str]) -> IndexBuilt:
        built = await self._run(workspace, paths, None)
        self._embed_behind(self._file(workspace))
        return built

    async def watch(self, workspace: Path) -> AsyncGenerator[IndexBuilt | None, None]:
        """Up to date now, and again after every change; None every second or so when nothing has changed."""
        yield await self.build(workspace)
        async for paths in changes(workspace):
            if paths is None:
                built = await self.build(workspace)
            elif paths:
                built = await self.update(workspace, paths)
            else:
                built = None
            yield built if built is not None and (built.indexed or built.removed) else None

    async def embedded(self, workspace: Path) -> None:
        """Waits until everything that was built can be found by meaning."""
        if (task := self._embedding.get(self._file(workspace))) is not None:
            await asyncio.shield(task)

    async def close(self) -> None:
        for task in self._embedding.values():
            task.cancel()
        await asyncio.gather(*self._embedding.values(), return_exceptions=True)

    async def search(self, workspace: Path, query: str, k: int = 10, by: SearchBy = "fused") -> list[CodeHit]:
        return await self._reading(workspace, lambda database: self._search(workspace, database, query, k, by))

    async def shown(self, workspace: Path, session: str, call: str, query: str, hits: Sequence[CodeHit]) -> None:
        if hits:
            await self._writing(workspace, lambda database: usefulness.shown(database, session, call, query, hits))

    async def used(self, workspace: Path, session: str, path: str, lines: tuple[int, int] | None = None) -> None:
        await self._writing(workspace, lambda database: usefulness.used(database, session, path, lines))

    async def answered(self, workspace: Path, session: str, since: float, answer: str) -> None:
        await self._writing(workspace, lambda database: usefulness.answered(database, session, since, answer))

    async def symbols(self, workspace: Path, name: str, limit: int = 50) -> list[CodeSymbol]:
        found = await self._reading(workspace, lambda database: database.symbols(name, limit))
        return [place for place in found if self._may_read(workspace, place.path)]

    async def symbols_like(self, workspace: Path, letters: str, limit: int = 50) -> list[CodeSymbol]:
        found = await self._reading(workspace, lambda database: database.symbols_like(letters, limit))
        return [place for place in found if self._may_read(workspace, place.path)]

    async def references(self, workspace: Path, name: str, limit: int = 200) -> list[CodeReference]:
        found = await self._reading(workspace, lambda database: database.references(name, limit))
        return [place for place in found if self._may_read(workspace, place.path)]

    async def repository_map(self, workspace: Path, max_tokens: int = 1000) -> str:
        return (await self.code_map(workspace, max_tokens)).text

    async def code_map(self, workspace: Path, max_tokens: int) -> CodeMap:
        return await self._reading(
            workspace, lambda database: overview(database, max_tokens, lambda path: self._may_read(workspace, path))
        )

    async def status(self, workspace: Path) -> IndexInfo:
        try:
            return await self._reading(workspace, lambda database: self._status(workspace, database))
        except OpenAgentError:
            return IndexInfo(str(workspace), None, model=is_set_up(self.model))

    def _file(self, workspace: Path) -> Path:
        return self._home / f"{sha256(str(workspace.resolve()).encode()).hexdigest()[:24]}.db"

    async def _run(self, workspace: Path, paths: Sequence[str], progress: OnProgress | None) -> IndexBuilt:
        if not await asyncio.to_thread(workspace.is_dir):
            raise OpenAgentError("not_found", f"{workspace} is not a directory.", hint="Name the one to index.")
        file = self._file(workspace)
        async with self._building.setdefault(file, asyncio.Lock()):
            process = await start("openagent.index", "build", str(workspace), str(file), *paths, stdout=PIPE)
            try:
                last, error = await asyncio.gather(_follow(process, progress), _rest(process.stderr))
                await process.wait()
            finally:
                await _end(process)
        if last.built is None:
            reason = error.strip().splitlines()[-1][:_SHOWN_ERROR] if error.strip() else f"exit {process.returncode}"
            raise OpenAgentError("internal", f"The indexing process ended early: {reason}.", hint="Try it once more.")
        if not paths:
            self.without_grammar[workspace] = last.without
        return last.built

    def _embed_behind(self, file: Path) -> None:
        running = self._embedding.get(file)
        if (running is None or running.done()) and is_set_up(self.model):
            self._embedding[file] = asyncio.create_task(self._embed(file))

    async def _embed(self, file: Path) -> None:
        chroma = [str(_chroma_of(file))] if self._chroma else []
        process = await start("openagent.index", "embed", str(file), str(self.model), *chroma)
        try:
            error = await _rest(process.stderr)
            if await process.wait() != 0:
                _log.error("embedding failed, code is found by words only", extra={"reason": error[-_SHOWN_ERROR:]})
        finally:
            await _end(process)

    async def _reading(self, workspace: Path, work: Callable[[Database], T]) -> T:
        return await asyncio.to_thread(self._read, workspace, work)

    def _read(self, workspace: Path, work: Callable[[Database], T]) -> T:
        try:
            database = Database(self._file(workspace))
        except FileNotFoundError:
            raise OpenAgentError(
                "not_found", f"{workspace} was not indexed yet.", hint="Run `openagent index build` there."
            ) from None
        try:
            return work(database)
        finally:
            database.close()

    async def _writing(self, workspace: Path, work: Callable[[Database], None]) -> None:
        """Nothing is lost when it cannot be done now: a search teaches, it does not depend on it."""

        def write() -> None:
            database = Database(self._file(workspace), write=True)
            try:
                work(database)
            finally:
                database.close()

        try:
            await asyncio.to_thread(write)
        except sqlite3.Error as problem:
            _log.warning("search statistics could not be saved", extra={"reason": str(problem)})

    def _search(self, workspace: Path, database: Database, query: str, k: int, by: SearchBy) -> list[CodeHit]:
        lists: list[list[int]] = []
        if by != "meaning":
            lists.append(database.by_words(query, CANDIDATES))
        if by != "text" and query.strip() and (meanings := self._meanings_of(workspace, database)) is not None:
            embedder = self._embedder = self._embedder or Embedder(self.model)
            lists.append(meanings.nearest(embedder.embed([query]), CANDIDATES))
        good, bad = usefulness.learned(database, query) if by == "fused" else ([], set[int]())
        scores: dict[int, float] = {}
        for ranked in [*lists, good]:
            for rank, chunk in enumerate(ranked, 1):
                scores[chunk] = scores.get(chunk, 0.0) + 1 / (_FUSION_RANK + rank)
        for chunk in bad & scores.keys():
            scores[chunk] *= _PASSED_OVER
        best = sorted(scores.items(), key=lambda item: -item[1])
        hits = (database.hit(chunk, round(score, 6)) for chunk, score in best)
        shown = (hit for hit in hits if hit is not None and self._may_read(workspace, hit.path))
        return list(islice(shown, max(k, 0)))

    def _meanings_of(self, workspace: Path, database: Database) -> Meanings | ChromaVectors | None:
        if not is_set_up(self.model) or bool(database.fact(ELSEWHERE)) != self._chroma:
            return None
        version = database.fact("embedded_at") or 0.0
        kept = self._meanings.get(workspace)
        if kept is None or kept[0] != version:
            there = ChromaVectors(_chroma_of(self._file(workspace))) if self._chroma else Meanings(database.vectors())
            kept = self._meanings[workspace] = (version, there)
        return kept[1]

    def _status(self, workspace: Path, database: Database) -> IndexInfo:
        return IndexInfo(
            workspace=str(workspace),
            built_at=database.fact("built_at"),
            files=database.count("files"),
            chunks=database.count("chunks"),
            symbols=database.count("symbols"),
            references=database.count("references"),
            embedded=database.count("embedded"),
            left_out=database.count("left_out"),
            size_bytes=self._file(workspace).stat().st_size,
            model=is_set_up(self.model),
            shown=database.count("shown"),
            useful=database.count("useful"),
        )


def _chroma_of(file: Path) -> Path:
    return file.with_suffix(".chroma")


async def _follow(process: asyncio.subprocess.Process, progress: OnProgress | None) -> _Line:
    line = _Line()
    if process.stdout is not None:
        async for raw in process.stdout:
            line = msgspec.json.decode(raw, type=_Line)
            if progress is not None and line.stage:
                progress(line.stage, line.done, line.total)
    return line


async def _end(process: Process) -> None:
    """Its pipes are closed with it: left to the garbage collector, they would be anybody's warning."""
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


async def _rest(stream: asyncio.StreamReader | None) -> str:
    return "" if stream is None else (await stream.read()).decode(errors="replace")
