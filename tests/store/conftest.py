import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.postgres import running_postgres

pytest.register_assert_rewrite("tests.store.store_contract")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of one server for all xdist workers of a run."""
    with running_postgres(os.environ.get("PYTEST_XDIST_TESTRUNUID", "")[:12]) as url:
        yield url


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
