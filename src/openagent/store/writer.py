"""Where transactions that write take place: each session has one writer, and so its writes have one order."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from openagent.store import engine as engines
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
        self._transaction = _SqliteTransaction(engine, self._log.committed)

    def transaction(self) -> AbstractContextManager[Connection]:
        return self._transaction

    def close(self) -> None:
        super().close()
        self._log.close()
        self._transaction.close()


class _SqliteTransaction:
    """One after the other, on one connection. The driver is told of each one's beginning and end directly: what
    SQLAlchemy does around them costs more than they do. To SQLAlchemy it is one transaction that never ends."""

    def __init__(self, engine: Engine, on_commit: Callable[[], None]) -> None:
        self._engine = engine.execution_options(**engines.BEGUN_BY_HAND)
        self._on_commit = on_commit
        self._connection: Connection | None = None
        self._driver: sqlite3.Connection | None = None

    def __enter__(self) -> Connection:
        connection, driver = self._connection, self._driver
        try:
            if connection is None or driver is None:
                connection = self._connection = self._engine.connect()
                driver = self._driver = cast("sqlite3.Connection", connection.connection.driver_connection)
            driver.execute(engines.BEGIN_WRITING)
        except (sqlite3.Error, DBAPIError):
            self.close()
            raise
        return connection

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _: object) -> None:
        assert self._driver is not None
        try:
            self._driver.execute("COMMIT" if problem is None else "ROLLBACK")
        except sqlite3.Error:
            self.close()
            if problem is None:
                raise
            return
        if isinstance(problem, sqlite3.Error | DBAPIError):
            self.close()
        elif problem is None:
            self._on_commit()

    def close(self) -> None:
        """A file that came and went is opened anew."""
        connection, self._connection, self._driver = self._connection, None, None
        if connection is not None:
            connection.close()
