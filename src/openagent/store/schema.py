"""Brings a database to the schema of this program. Alembic is imported only when there is something to migrate."""

from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.schema import CreateTable

from openagent.protocol.errors import OpenAgentError
from openagent.store.engine import READ_ONLY, keep_copy, place
from openagent.store.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0024"
"""The newest revision under migrations/versions."""
_MIGRATION_LOCK = 0x6F70656E
_versions = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, as Alembic would create it."""


def prepare(engine: Engine) -> None:
    with engine.connect().execution_options(**READ_ONLY) as connection, connection.begin():
        found = version(connection)
        if found == HEAD:
            return
    if found is not None and engine.dialect.name == "sqlite":
        keep_copy(engine, found)
    with engine.begin() as connection:
        _wait_for_other_daemons(connection)
        found = version(connection)
        if found is None:
            _create(connection)
        elif found != HEAD:
            _migrate(connection, found)


def version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_versions.name):
        return None
    return connection.execute(select(_versions.c.version_num)).scalar()


def alembic_config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "openagent.store:migrations")
    config.attributes["connection"] = connection
    return config


def _wait_for_other_daemons(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))


def _create(connection: Connection) -> None:
    if taken := set(inspect(connection).get_table_names()) & set(metadata.tables):
        raise OpenAgentError(
            "store_error",
            f"The database {place(connection.engine)} is damaged or another program's: it holds tables "
            f"({', '.join(sorted(taken)[:3])}, …) and does not say of which version.",
            hint="Restore it from a backup, or point store.url to an empty database.",
        )
    metadata.create_all(connection, checkfirst=False)
    connection.execute(CreateTable(_versions, if_not_exists=True))
    connection.execute(insert(_versions), {"version_num": HEAD})


def _migrate(connection: Connection, found: str) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    config = alembic_config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found not in known:
        raise OpenAgentError(
            "store_error",
            f"The database {place(connection.engine)} was written by a newer OpenAgent (schema {found}; this one knows "
            f"up to {HEAD}), or is damaged.",
            hint="Update OpenAgent, restore it from a backup, or point store.url to another database.",
        )
    command.upgrade(config, HEAD)
