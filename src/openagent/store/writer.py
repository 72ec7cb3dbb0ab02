"""Where transactions that write take place: each session has one writer, and so its writes have one order."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from sqlalchemy import Connection, Engine

from openagent.store import raw
from openagent.store.engine import empty_write_ahead_log
from openagent.store.threads import DatabaseThreads

_COMMITS_PER_LOG = 200
"""Some two thousand pages: well before SQLite would do it by itself, in the middle of a commit."""


class Writer:
    """A thread, and the newest raw requests of the sessions that are written on it."""

    def __init__(self, engine: Engine, number: int, remembered_bytes: int) -> None:
        self.thread = DatabaseThreads(f"store-write-{number}")
        self.requests = raw.RecentRequests(remembered_bytes)
        self._engine = engine

    def transaction(self) -> AbstractContextManager[Connection]:
        return self._engine.begin()

    def close(self) -> None:
        self.thread.close()


class SqliteWriter(Writer):
    """Keeps its connection, and leaves emptying the write-ahead log to a thread that reads."""

    def __init__(self, engine: Engine, remembered_bytes: int, readers: DatabaseThreads) -> None:
        super().__init__(engine, 0, remembered_bytes)
        self._readers = readers
        self._connection: Connection | None = None
        self._commits = 0

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        if self._connection is None:
            self._connection = self._engine.connect()
        with self._connection.begin():
            yield self._connection
        self._commits += 1
        if self._commits % _COMMITS_PER_LOG == 0:
            self._readers.post(partial(empty_write_ahead_log, self._engine))

    def close(self) -> None:
        super().close()
        if self._connection is not None:
            self._connection.close()
