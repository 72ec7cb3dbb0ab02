"""From a URL to a database connection, and from a driver's error to one a person can act on."""

import os
import sqlite3
import stat
import time
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from openagent.protocol.errors import OpenAgentError

READ_ONLY = {"sqlite_begin": "BEGIN"}
"""Execution options of a transaction that only reads, and so does not wait for a writer."""
BEGUN_BY_HAND = {"sqlite_begin": ""}
"""Of a connection whose transactions are not begun here."""
BEGIN_WRITING = "BEGIN IMMEDIATE"
"""A transaction that will write takes the lock at once: one that read first could no longer get it."""
_BUSY_TIMEOUT_S = 2.0
"""How long another program's lock is waited for. Whoever needs longer tries again, and people are told meanwhile."""
_LONGEST_WRITE_AHEAD_LOG = 4_000
"""Pages after which a commit copies it into the file by itself, when nobody else came to it."""
_POSTGRES_CONNECTIONS = 8
_CONNECT_TIMEOUT_S = 3
_UNHEARD_MS = 4_000
"""What was sent to the server and is not confirmed by its machine for so long is lost, and with it the connection."""
_SILENT_MS = 10_000
"""A transaction that its daemon does not go on with for so long is ended by the server: a daemon that is frozen would
keep others from the rows it has locked, until it wakes."""
_NO_SUCH_PARENT = "23503"
_SERVER_IS_GONE = ("08", "57P")
"""Beginnings of the SQLSTATEs of a connection that was lost or is refused."""
_SERVER_IS_UNWELL = ("53", "58", "55P03", "57014", "25006", "40")
"""And of a full disk, too many connections, I/O errors, locks, a server that only reads, transactions in each other's
way: another day the same will be stored."""
_RESTORE = "Restore it from a backup, move it away to start with an empty one, or point store.url to another."
_AWAY = "Move it away, or point store.url to a file."
_MAKING_S = 10.0
UNREADABLE = (UnicodeDecodeError, msgspec.DecodeError, zlib.error)
"""What reading rows raises when they hold what nobody wrote."""
_URL_HINT = "Set store.url to `sqlite:///path/to/file.db` or `postgresql://user@host/database`."


def create(url: str) -> Engine:
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    return _postgresql(parsed)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise OpenAgentError("config_error", "The store's URL is not a database URL.", hint=_URL_HINT) from None
    match parsed.get_backend_name():
        case "sqlite":
            if not parsed.database or parsed.database == ":memory:":
                raise OpenAgentError("config_error", "A SQLite store needs a file.", hint=_URL_HINT)
            return parsed.set(drivername="sqlite+pysqlite", database=os.path.expanduser(parsed.database))
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
        case other:
            raise OpenAgentError("config_error", f"A store cannot be kept in {other!r}.", hint=_URL_HINT)


def is_sqlite(url: str) -> bool:
    return _parse(url).get_backend_name() == "sqlite"


def sqlite_file(url: str) -> Path:
    return Path(_parse(url).database or "")


def _sqlite(url: URL) -> Engine:
    path = Path(url.database or "")
    _refuse_what_was_emptied(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Conversations hold secrets: nobody else reads the file, nor the -wal and -shm files that take over its mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except IsADirectoryError:
        raise OpenAgentError(
            "store_error", f"There is a folder in place of the database file {path}.", hint=_AWAY
        ) from None
    except OSError as problem:
        raise OpenAgentError(
            "store_error",
            f"The database file {path} cannot be opened: {problem.strerror}.",
            hint="Check that its folder exists and is yours to write to.",
        ) from None
    engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S, "isolation_level": None})
    event.listen(engine, "connect", _prepare_sqlite_connection)
    event.listen(engine, "begin", _begin_sqlite_transaction)
    return engine


def _refuse_what_was_emptied(path: Path) -> None:
    """No database is left with nothing in it, unless a daemon died in the moment it made it: in a new home."""
    try:
        found = path.stat()
    except OSError:
        return
    used = (path.parent / "checkpoints").is_dir()
    if stat.S_ISREG(found.st_mode) and not found.st_size and (used or time.time() - found.st_mtime > _MAKING_S):
        raise OpenAgentError("store_error", f"The database file {path} is damaged: it is empty.", hint=_RESTORE)


def keep_copy(engine: Engine, version: str) -> None:
    """Beside the database, before a migration changes it. The copies of earlier migrations go."""
    path = Path(engine.url.database or "")
    copy, arriving = path.with_name(f"{path.name}.schema-{version}"), path.with_name(f"{path.name}.copying")
    try:
        arriving.unlink(missing_ok=True)
        os.close(os.open(arriving, os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(arriving)) as target:
            source.backup(target)
        os.replace(arriving, copy)
    except (OSError, sqlite3.Error) as problem:
        with suppress(OSError):
            arriving.unlink(missing_ok=True)
        why = _first_line(problem) if isinstance(problem, sqlite3.Error) else problem.strerror
        raise OpenAgentError(
            "store_error",
            f"The database file {path} is of an older version and was not changed: it cannot be copied first: {why}.",
            hint="Make room for a copy of it, or move it away to start with an empty one.",
        ) from None
    for older in path.parent.glob(f"{path.name}.schema-*"):
        if older != copy:
            older.unlink(missing_ok=True)


def _prepare_sqlite_connection(connection: sqlite3.Connection, _record: Any) -> None:
    # With WAL, synchronous=NORMAL survives the death of the process at any moment; only a power cut may take the
    # newest transactions, and never the file's integrity.
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"wal_autocheckpoint={_LONGEST_WRITE_AHEAD_LOG}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite_transaction(connection: Connection) -> None:
    if begin := connection.get_execution_options().get("sqlite_begin", BEGIN_WRITING):
        connection.connection.cursor().execute(begin)


def _postgresql(url: URL) -> Engine:
    try:
        engine = create_engine(
            url,
            pool_size=_POSTGRES_CONNECTIONS,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args={"connect_timeout": _CONNECT_TIMEOUT_S, "tcp_user_timeout": _UNHEARD_MS},
        )
    except ModuleNotFoundError:
        raise OpenAgentError(
            "config_error",
            "The store is set to PostgreSQL, whose driver is not installed.",
            hint="Install it as you installed OpenAgent: `uv tool install 'openagent[postgres]'`, or with pipx or pip.",
        ) from None
    event.listen(engine, "connect", _prepare_postgresql_connection)
    return engine


def _prepare_postgresql_connection(connection: Any, _record: Any) -> None:
    connection.execute(f"SET idle_in_transaction_session_timeout = {_SILENT_MS}")
    connection.commit()


def driver_errors(engine: Engine) -> tuple[type[Exception], ...]:
    """What a transaction may raise: the driver's own errors, bare or wrapped by SQLAlchemy."""
    return (DBAPIError, engine.dialect.loaded_dbapi.Error, *UNREADABLE)


def place(engine: Engine) -> str:
    """Of the database, for people."""
    url = engine.url
    if url.get_backend_name() == "sqlite":
        return f"file {url.database}"
    return url.render_as_string(hide_password=True)


def is_locked(problem: Exception) -> bool:
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    return str(getattr(cause, "sqlite_errorname", "")).startswith("SQLITE_BUSY")


def explain(problem: Exception, engine: Engine) -> OpenAgentError:
    """The driver's error in words; never its statement or parameters, which hold what people said."""
    return damaged(engine) if isinstance(problem, UNREADABLE) else _explain(problem, engine)


def damaged(engine: Engine) -> OpenAgentError:
    what = f"The database {place(engine)} is damaged: what it holds cannot be read."
    return OpenAgentError("store_error", what, hint=_RESTORE)


def is_damaged(engine: Engine) -> bool:
    """Asked when something was read that nobody could have written. Takes long where there is much."""
    if engine.dialect.name != "sqlite":
        return False
    try:
        with closing(sqlite3.connect(f"file:{engine.url.database}?mode=ro", uri=True)) as connection:
            return connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
    except (sqlite3.Error, UnicodeDecodeError):
        return True


def _explain(problem: Exception, engine: Engine) -> OpenAgentError:
    driver, url = engine.dialect.loaded_dbapi, engine.url
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    sqlstate = str(getattr(cause, "sqlstate", None) or "")
    if isinstance(cause, driver.IntegrityError):
        return _explain_integrity(cause, sqlstate)
    where = url.database if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    if isinstance(cause, sqlite3.Error):
        return _explain_sqlite(cause, str(where))
    if isinstance(cause, driver.DataError):
        return OpenAgentError("invalid_argument", f"The database cannot hold this: {_first_line(cause)}.")
    if not sqlstate or sqlstate.startswith(_SERVER_IS_GONE):
        return OpenAgentError(
            "store_unavailable",
            f"The database {where} cannot be reached: {_first_line(cause)}.",
            hint="Check that PostgreSQL is running and that `database` in the settings (or `store.url`) is right.",
        )
    if sqlstate.startswith(_SERVER_IS_UNWELL):
        return OpenAgentError(
            "store_unavailable",
            f"The database {where} cannot store anything now: {_first_line(cause)}.",
            hint="Check PostgreSQL's disk and log.",
        )
    return OpenAgentError("store_error", f"The database {where} refused: {_first_line(cause)}.")


def _explain_integrity(problem: Exception, sqlstate: str) -> OpenAgentError:
    if sqlstate == _NO_SUCH_PARENT or "FOREIGN KEY" in str(problem):
        return OpenAgentError("not_found", "The session is gone: it was deleted meanwhile.")
    return OpenAgentError(
        "conflict",
        "The session already holds a message or an event of that number.",
        hint="Another daemon may be running the same session; stop one of them.",
    )


_SIGNS_OF_DAMAGE = ("Could not decode", "no such table", "no such column", "no such index")
_SQLITE_OUTAGES: dict[str, tuple[str, str]] = {
    "SQLITE_BUSY": ("is locked by another program", "Close the program that uses it, and try again."),
    "SQLITE_LOCKED": ("is locked by another program", "Close the program that uses it, and try again."),
    "SQLITE_FULL": ("cannot grow: the disk is full", "Free some space, and try again."),
    "SQLITE_READONLY": ("is read-only", "Check who owns the file and its folder."),
    "SQLITE_CANTOPEN": ("cannot be opened", "Check that its folder exists and is yours to write to."),
    "SQLITE_IOERR": ("cannot be read or written: the disk reported an error", "Check the disk and its free space."),
}
_SQLITE_DAMAGE: dict[str, tuple[str, str]] = {
    "SQLITE_CORRUPT": ("is damaged", _RESTORE),
    "SQLITE_NOTADB": ("is not a SQLite database, or its beginning is damaged", _RESTORE),
    "SQLITE_FORMAT": ("is damaged", _RESTORE),
}


def _explain_sqlite(problem: sqlite3.Error, path: str) -> OpenAgentError:
    if str(problem).startswith(_SIGNS_OF_DAMAGE):  # and the rest of it may be what people said
        return OpenAgentError("store_error", f"The database file {path} is damaged.", hint=_RESTORE)
    name = str(getattr(problem, "sqlite_errorname", ""))
    for prefix, (what, hint) in (_SQLITE_OUTAGES | _SQLITE_DAMAGE).items():
        if name.startswith(prefix):
            code = "store_unavailable" if prefix in _SQLITE_OUTAGES else "store_error"
            return OpenAgentError(code, f"The database file {path} {what}.", hint=hint)
    return OpenAgentError("store_error", f"The database file {path} refused: {_first_line(problem)}.")


def _first_line(problem: BaseException | None) -> str:
    return str(problem).strip().partition("\n")[0].rstrip(".")
