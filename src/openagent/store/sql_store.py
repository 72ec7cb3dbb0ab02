"""The Store over SQLAlchemy Core: each method is one hop to a database thread and one transaction there.

Writes of one session always run on the same thread, in the order they were asked for. SQLite has one thread that
writes and one that reads; PostgreSQL has a few of each.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from zlib import crc32

from sqlalchemy import Connection, Engine

from openagent.plugins.store import (
    AuditEntry,
    Batch,
    CollectionRecord,
    DraftPiece,
    FailureRecord,
    Holder,
    KeptGrant,
    McpServerRecord,
    SeenRecord,
    SessionCount,
    Store,
    StoredSession,
    UsageRecord,
    UsageTotals,
    Whereabouts,
)
from openagent.plugins.tenant import Tenant
from openagent.protocol.conversation import RawExchange
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, Event
from openagent.protocol.messages import Message
from openagent.protocol.sessions import EndedTurn, SessionInfo
from openagent.protocol.templates import Template
from openagent.protocol.usage import SessionUsage
from openagent.store import (
    accounts,
    events,
    grants,
    leases,
    mcp_servers,
    messages,
    raw,
    schema,
    sessions,
    templates,
    turns,
)
from openagent.store import engine as engines
from openagent.store.commit import commit, import_session
from openagent.store.sessions import used_below as _used_below
from openagent.store.threads import DatabaseThreads
from openagent.store.writer import SqliteWriter, Writer

_POSTGRES_THREADS = 4
_MIGRATION_S = 10.0
_PATIENCE_S = 2.5
"""How long something may wait until the store comes to it. What then takes its time (a fork of a long session) may."""

P = ParamSpec("P")
T = TypeVar("T")


class SqlStore:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reading = engine.execution_options(**engines.READ_ONLY)
        self._driver_errors = engines.driver_errors(engine)
        self._closed = False
        self._holder: Holder | None = None
        self._lease_s = 0.0
        if engine.dialect.name == "sqlite":
            self._readers = DatabaseThreads("store-read")
            self._writers: list[Writer] = [SqliteWriter(engine, raw.REMEMBERED_BYTES)]
        else:
            self._readers = DatabaseThreads("store-read", _POSTGRES_THREADS)
            remembered_bytes = raw.REMEMBERED_BYTES // _POSTGRES_THREADS
            self._writers = [Writer(engine, number, remembered_bytes) for number in range(_POSTGRES_THREADS)]

    @property
    def writers_at_once(self) -> int:
        return len(self._writers)

    async def register(self, holder: Holder, *, lease_s: float) -> float:
        self._holder, self._lease_s = holder, lease_s
        return await self._write(holder.id, leases.register, holder, lease_s)

    async def renew(self) -> bool:
        if self._holder is None:
            return True
        return await self._write(self._holder.id, leases.renew, self._holder, self._lease_s)

    async def resign(self) -> None:
        if self._holder is not None:
            await self._write(self._holder.id, leases.resign, self._holder)

    async def take(self, session: str) -> StoredSession:
        if self._holder is None:
            return await self.session(session)
        return await self._write(session, leases.take, session, self._holder)

    async def give_back(self, session: str) -> None:
        if self._holder is not None:
            await self._write(session, leases.give_back, session, self._holder)

    async def kept(self) -> list[str]:
        return await self._read(leases.kept, self._holder) if self._holder else []

    async def whereabouts(self, session: str) -> Whereabouts:
        return await self._read(leases.whereabouts, session)

    async def living(self) -> list[str]:
        return await self._read(leases.living)

    async def create_session(self, info: SessionInfo, events: Sequence[Event]) -> None:
        await self._write(info.id, sessions.create, info, events, self._holder)

    async def session(self, session: str) -> StoredSession:
        return await self._read(sessions.one, session)

    async def sessions(
        self,
        *,
        limit: int,
        before: float | None = None,
        before_id: str = "",
        cwd: str = "",
        query: str = "",
        roots: bool = False,
        archived: bool | None = None,
        brought: bool | None = None,
        agent: str = "",
        within: Tenant | None = None,
    ) -> list[SessionInfo]:
        def page(connection: Connection) -> list[SessionInfo]:
            found = sessions.page(
                connection,
                limit,
                before,
                before_id=before_id,
                cwd=cwd,
                query=query,
                roots=roots,
                archived=archived,
                brought=brought,
                agent=agent,
                within=within,
            )
            return leases.told_truly(connection, found)

        return await self._read(page)

    async def brought(self, cwd: str = "", within: Tenant | None = None) -> dict[str, int]:
        return await self._read(sessions.brought, cwd, within)

    async def descendants(self, session: str) -> list[SessionInfo]:
        return await self._read(sessions.below, session)

    async def used_below(self, sessions: Sequence[str]) -> dict[str, SessionUsage]:
        return await self._read(_used_below, sessions) if sessions else {}

    async def session_counts(self, *, within: Tenant | None = None) -> list[SessionCount]:
        return await self._read(sessions.counts, within)

    async def session_names(self, ids: Sequence[str]) -> dict[str, str]:
        return await self._read(sessions.names, ids)

    async def count_sessions(self) -> int:
        return await self._read(sessions.count)

    async def unfinished_sessions(self) -> list[str]:
        return await self._read(lambda connection: sessions.unfinished(connection, leases.is_free(connection)))

    async def waiting_sessions(self) -> list[str]:
        return await self._read(
            lambda connection: sessions.with_messages_waiting(connection, leases.is_free(connection))
        )

    async def count_queued(self) -> int:
        return await self._read(sessions.count_queued)

    async def delete_session(self, session: str) -> None:
        writer = self._writer(session)
        await self._soon(writer, partial(self._delete, writer, session))

    def _delete(self, writer: Writer, session: str) -> None:
        self._transact(writer.transaction(), sessions.remove, session)
        writer.requests.forget(session)

    def forget(self, session: str) -> None:
        """Nothing more is written of it soon: what was remembered to write less can go."""
        writer = self._writer(session)
        if not self._closed:
            writer.thread.soon(partial(writer.requests.forget, session))

    async def fork_session(self, source: str, fork: SessionInfo, through: int | None, events: Sequence[Event]) -> None:
        await self._write(fork.id, sessions.fork, source, fork, through, events)

    async def import_session(self, batch: Batch, *, paid_as: Sequence[str]) -> None:
        await self._write(batch.session, import_session, batch, paid_as, self._holder)

    async def commit(self, batch: Batch) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def told(problem: Exception | None) -> None:
            if not done.done():
                done.set_result(None) if problem is None else done.set_exception(problem)

        self.hand_over(batch, told)
        await done

    def hand_over(self, batch: Batch, told: Callable[[Exception | None], None]) -> None:
        if self._closed:
            raise _closed()
        writer = self._writer(batch.session)
        writer.thread.run_together(self._commit_all, batch.session, (writer, batch), told)

    def _commit_all(self, asked: Sequence[tuple[Writer, Batch]]) -> list[Exception | None]:
        """What several sessions want stored at the same time costs one transaction. Where one of them cannot be stored,
        each has its own."""
        if len(asked) > 1:
            try:
                self._commit(asked[0][0], [batch for _, batch in asked])
            except Exception:  # of whom, is found out one by one
                return [problem for one in asked for problem in self._commit_all([one])]
            return [None] * len(asked)
        try:
            self._commit(asked[0][0], [asked[0][1]])
        except Exception as problem:  # the boundary of this thread: it goes to whoever asked
            return [problem]
        return [None]

    def _commit(self, writer: Writer, batches: Sequence[Batch]) -> None:
        remembered = self._transact(writer.transaction(), commit, batches, writer.requests, self._holder)
        for session, request in remembered.items():
            writer.requests.put(session, request)

    async def messages(
        self, session: str, *, limit: int, before: int | None = None, after: int | None = None
    ) -> list[Message]:
        return await self._read(messages.page, session, limit, before, after)

    async def recent_messages(
        self, session: str, *, token_budget: int, without: Sequence[tuple[int, int]] = ()
    ) -> list[Message]:
        return await self._read(messages.recent, session, token_budget, without)

    async def search_messages(
        self, session: str, terms: Sequence[str], *, within: Sequence[tuple[int, int]], limit: int
    ) -> list[Message]:
        return await self._read(messages.search, session, terms, within, limit)

    async def turn_start(self, session: str, turn: int) -> int | None:
        return await self._read(messages.turn_start, session, turn)

    async def turns(self, session: str, *, first: int, last: int) -> list[EndedTurn]:
        return await self._read(turns.ends, session, first, last)

    async def turns_ended(self, *, since: float, until: float) -> list[tuple[str, EndedTurn]]:
        return await self._read(turns.ended_between, since, until)

    async def last_ends(self, sessions: Sequence[str]) -> dict[str, EndedTurn]:
        return await self._read(turns.last_ends, sessions)

    async def keep_draft(self, session: str, piece: DraftPiece, *, anew: bool = False) -> None:
        await self._write(session, turns.keep_piece, session, piece, anew)

    async def draft(self, session: str) -> list[DraftPiece]:
        return await self._read(turns.pieces, session)

    async def collections(self, session: str) -> list[CollectionRecord]:
        return await self._read(sessions.collections_of, session)

    async def files_seen(self, session: str) -> list[SeenRecord]:
        return await self._read(sessions.seen_of, session)

    async def raw(self, session: str, number: int) -> RawExchange:
        return await self._read(raw.exchange, session, number)

    async def events(self, session: str, *, after: int, limit: int) -> list[AnyEvent]:
        return await self._read(events.after, session, after, limit)

    async def messages_of(self, session: str, op_id: str) -> list[AnyEvent]:
        return await self._read(events.of_messages, session, op_id)

    async def usage_totals(self, *, since: float = 0.0) -> UsageTotals:
        return await self._read(accounts.totals, since)

    async def usage_rows(self, *, since: float = 0.0, until: float | None = None) -> list[tuple[str, UsageRecord]]:
        return await self._read(accounts.usage_between, since, until)

    async def failures(self, *, since: float = 0.0, until: float | None = None) -> list[FailureRecord]:
        return await self._read(events.failures, since, until)

    async def audit(
        self,
        session: str | None = None,
        *,
        kind: str = "",
        since: float = 0.0,
        limit: int = 100,
        before: int | None = None,
    ) -> list[AuditEntry]:
        return await self._read(accounts.audit_trail, session, kind=kind, since=since, limit=limit, before=before)

    async def grants(self) -> list[tuple[str, KeptGrant]]:
        return await self._read(grants.every)

    async def mcp_servers(self) -> list[McpServerRecord]:
        return await self._read(mcp_servers.every)

    async def put_mcp_server(self, record: McpServerRecord) -> None:
        await self._write(record.name, mcp_servers.put, record)

    async def remove_mcp_server(self, name: str) -> bool:
        return await self._write(name, mcp_servers.remove, name)

    async def templates(self) -> list[Template]:
        return await self._read(templates.every)

    async def save_template(self, template: Template, *, replace: bool) -> None:
        await self._write(template.name, templates.save, template, replace)

    async def remove_template(self, name: str) -> None:
        await self._write(name, templates.remove, name)

    async def close(self) -> None:
        """What was asked for before is still done."""
        self._closed = True
        await asyncio.to_thread(self._shut_down)

    def _shut_down(self) -> None:
        for writer in self._writers:
            writer.close()
        self._readers.close()
        self._engine.dispose()

    def _writer(self, session: str) -> Writer:
        return self._writers[crc32(session.encode(errors="replace")) % len(self._writers)]

    async def _read(self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        def read() -> T:
            return self._transact(self._reading.begin(), query, *args, **kwargs)

        return await self._hop(self._readers, read)

    async def _write(
        self, session: str, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        writer = self._writer(session)

        def write() -> T:
            return self._transact(writer.transaction(), query, *args, **kwargs)

        return await self._soon(writer, write)

    read = _read
    """For what else is kept in this database."""
    write = _write

    async def _soon(self, writer: Writer, work: Callable[[], T]) -> T:
        """Whoever asked is told when the store does not come to it: others may be waiting for it to work again."""
        if self._closed:
            raise _closed()
        try:
            return await writer.thread.run_soon(work, _PATIENCE_S)
        except TimeoutError:
            raise OpenAgentError(
                "store_unavailable",
                f"The database had no time for this within {_PATIENCE_S:g} seconds, so it was not done.",
                hint="Check that its disk or its server is well, and try again.",
            ) from None

    async def _hop(self, threads: DatabaseThreads, work: Callable[[], T]) -> T:
        if self._closed:
            raise _closed()
        return await threads.run(work)

    def _transact(
        self,
        transaction: AbstractContextManager[Connection],
        query: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        try:
            with transaction as connection:
                return query(connection, *args, **kwargs)
        except self._driver_errors as problem:
            raise engines.explain(problem, self._engine) from None
        except (TypeError, ValueError, LookupError):
            if engines.is_damaged(self._engine):
                raise engines.damaged(self._engine) from None
            raise


def _closed() -> OpenAgentError:
    return OpenAgentError("shutting_down", "The store is closed.", hint="Start the daemon again.")


def _prepare(engine: Engine) -> None:
    """Another daemon may be migrating the same file, which takes longer than anybody else waits for a lock."""
    deadline = time.monotonic() + _MIGRATION_S
    while True:
        try:
            return schema.prepare(engine)
        except engines.driver_errors(engine) as problem:
            if not engines.is_locked(problem) or time.monotonic() > deadline:
                raise


def open_store(url: str) -> SqlStore:
    """Opens the database, creates or migrates its tables. Takes a while: call it off the event loop."""
    engine = engines.create(url)
    try:
        _prepare(engine)
    except engines.driver_errors(engine) as problem:
        engine.dispose()
        raise engines.explain(problem, engine) from None
    except OpenAgentError:
        engine.dispose()
        raise
    return SqlStore(engine)


if TYPE_CHECKING:

    def is_a_store(store: SqlStore) -> Store:
        return store
