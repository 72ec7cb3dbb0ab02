"""Where transactions that write take place: each session has one writer, and so its writes have one order."""

import sqlite3
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from openagent.store import raw
from openagent.store.threads import DatabaseThreads
from openagent.store.write_ahead_log import LogKeeper


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
    """Keeps its connection: one file cannot go away like a server."""

    def __init__(self, engine: Engine, remembered_bytes: int) -> None:
        super().__init__(engine, 0, remembered_bytes)
        self._log = LogKeeper(engine)
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        if self._connection is None:
            self._connection = self._engine.connect()
        try:
            with self._connection.begin():
                yield self._connection
        except (sqlite3.Error, DBAPIError):
            # A file that came and went is opened anew.
            self._connection.close()
            self._connection = None
            raise
        self._log.committed()

    def close(self) -> None:
        super().close()
        self._log.close()
        if self._connection is not None:
            self._connection.close()
