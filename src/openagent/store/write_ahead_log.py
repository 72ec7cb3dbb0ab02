"""SQLite appends each commit to a log, which must be copied into the database file before it grows too long. That takes
as long as the disk takes to confirm it; here it happens while nobody writes, not in the middle of somebody's commit."""

import sqlite3
from threading import Event, Thread

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

_WORTHWHILE = 200
"""Commits, of some ten pages each."""
_OVERDUE = 300
"""Commits after which it is copied beside them: short of the log's length at which SQLite would do it by itself."""
_QUIET_S = 0.05
"""Without a commit, this long: a model is thinking, or nobody is there."""


class LogKeeper:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._commits = 0
        self._worthwhile = Event()
        self._closing = Event()
        self._thread = Thread(target=self._keep, name="store-log", daemon=True)
        self._thread.start()

    def committed(self) -> None:
        self._commits += 1
        if self._commits >= _WORTHWHILE and not self._worthwhile.is_set():
            self._worthwhile.set()

    def close(self) -> None:
        """Leaves the rest to SQLite, which copies the whole log when its last connection is closed."""
        self._closing.set()
        self._worthwhile.set()
        self._thread.join()

    def _keep(self) -> None:
        while self._worthwhile.wait():
            seen = self._commits
            if self._closing.wait(_QUIET_S):
                return
            if self._commits == seen or self._commits >= _OVERDUE:
                self._worthwhile.clear()
                self._commits = 0
                self._empty()

    def _empty(self) -> None:
        """Waits for nobody, and nobody waits for it."""
        try:
            connection = self._engine.raw_connection()
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            connection.close()
        except (sqlite3.Error, DBAPIError):
            # Nothing is lost: a disk that fails is told to whoever reads or writes next.
            return
