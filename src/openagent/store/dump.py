"""A database as one file: taken while others write, tried out, and put in place."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct
from sqlalchemy import URL, Engine, delete, func, inspect, select, update

from openagent.protocol.errors import OpenAgentError
from openagent.store import engine as engines
from openagent.store import schema
from openagent.store.tables import daemons, messages, metadata, sessions

_LONGEST_S = 6 * 3600
_INSTALL = "Install PostgreSQL's client programs (Debian: `apt install postgresql-client`) on the daemon's machine."
_COUNTED = (
    "SELECT version_num FROM alembic_version",
    "SELECT count(*) FROM sessions",
    "SELECT count(*) FROM messages",
)


class Dumped(Struct, frozen=True):
    kind: str
    """sqlite or postgresql"""
    schema: str
    sessions: int
    messages: int


def dump(url: str, to: Path) -> Dumped:
    """What was committed before this moment, and nothing of what comes after; nobody waits for it."""
    if engines.is_sqlite(url):
        return _copy_sqlite(engines.sqlite_file(url), to)
    return _dump_postgresql(url, to)


def try_out(kind: str, file: Path) -> Dumped:
    """Opens it as a daemon would, bringing it up to date: a file of which there is another."""
    if kind == "postgresql":
        _run("pg_restore", ["--file", os.devnull, str(file)], {})
        return Dumped(kind, schema.HEAD, 0, 0)
    _refuse_damage(file)
    engine = engines.create(f"sqlite:///{file}")
    try:
        _refuse_newer(engine)
        schema.prepare(engine)
        return _counted(engine, "sqlite")
    except engines.driver_errors(engine) as problem:
        raise engines.explain(problem, engine) from None
    finally:
        engine.dispose()


def set_free(file: Path) -> None:
    """The daemon that had the sessions is another one, and may be dead."""
    engine = engines.create(f"sqlite:///{file}")
    try:
        with engine.begin() as connection:
            connection.execute(delete(daemons))
            connection.execute(update(sessions).values(daemon=None))
    finally:
        engine.dispose()
    with closing(sqlite3.connect(file)) as alone:  # one file, without a log beside it
        alone.execute("PRAGMA journal_mode=DELETE").close()


def fill_postgresql(url: str, file: Path) -> None:
    """Into a database that holds nothing of ours yet, whole or not at all."""
    engine = engines.create(url)
    try:
        taken = set(inspect(engine).get_table_names()) & set(metadata.tables)
        if taken:
            raise OpenAgentError(
                "conflict",
                f"The database {engines.place(engine)} holds sessions already, and is left as it is.",
                hint="Make an empty database, and point store.url to it.",
            )
        name, env = _connection(engine.url)
        _run("pg_restore", ["--no-owner", "--no-privileges", "--single-transaction", "--dbname", name, str(file)], env)
        with engine.begin() as connection:
            connection.execute(delete(daemons))
            connection.execute(update(sessions).values(daemon=None))
    except engines.driver_errors(engine) as problem:
        raise engines.explain(problem, engine) from None
    finally:
        engine.dispose()


def _copy_sqlite(path: Path, to: Path) -> Dumped:
    os.close(os.open(to, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        # One step over all pages is one reading transaction: in between, SQLite would begin anew after every write.
        with (
            closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(to)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE").close()
            found = [copy.execute(query).fetchone()[0] for query in _COUNTED]
    except sqlite3.Error as problem:
        told = f"The database file {path} cannot be copied: {problem}."
        raise OpenAgentError("store_error", told, hint="Check the disk and its free space.") from None
    return Dumped("sqlite", *found)


def _dump_postgresql(url: str, to: Path) -> Dumped:
    engine = engines.create(url)
    try:
        with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection, connection.begin():
            snapshot = connection.execute(select(func.pg_export_snapshot())).scalar_one()
            counted = _counted(engine, "postgresql")
            name, env = _connection(engine.url)
            options = ["--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}"]
            _run("pg_dump", [*options, "--file", str(to), "--dbname", name], env)
            return counted
    except engines.driver_errors(engine) as problem:
        raise engines.explain(problem, engine) from None
    finally:
        engine.dispose()


def _counted(engine: Engine, kind: str) -> Dumped:
    with engine.connect().execution_options(**engines.READ_ONLY) as connection, connection.begin():
        found = [
            connection.execute(select(func.count()).select_from(each)).scalar_one() for each in (sessions, messages)
        ]
        return Dumped(kind, schema.version(connection) or "", *found)


def _refuse_damage(file: Path) -> None:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
        found = None
    if found != ("ok",):
        raise OpenAgentError("store_error", "The database in the backup is damaged.", hint="Use another backup.")


def _refuse_newer(engine: Engine) -> None:
    with engine.connect().execution_options(**engines.READ_ONLY) as connection, connection.begin():
        found = schema.version(connection) or ""
    if found > schema.HEAD:
        told = f"The backup's database was written by a newer OpenAgent (schema {found}; this one knows {schema.HEAD})."
        raise OpenAgentError("store_error", told, hint="Update OpenAgent.")


def _connection(url: URL) -> tuple[str, Mapping[str, str]]:
    """The password goes by the environment: others can see a command line."""
    env = {"PGPASSWORD": url.password} if url.password else {}
    return url.set(drivername="postgresql", password=None).render_as_string(hide_password=False), env


def _run(program: str, options: list[str], env: Mapping[str, str]) -> None:
    found = shutil.which(program)
    if found is None:
        told = f"The sessions are kept in PostgreSQL, and {program}, which backups of it need, is not installed."
        raise OpenAgentError("config_error", told, hint=_INSTALL)
    ran = subprocess.run(
        [found, *options],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LONGEST_S,
        check=False,
    )
    if ran.returncode:
        said = ran.stderr.strip().partition("\n")[0].rstrip(".")
        raise OpenAgentError("store_error", f"{program} failed: {said}.", hint="Check PostgreSQL's log.")
