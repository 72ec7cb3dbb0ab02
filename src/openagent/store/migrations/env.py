"""Run by Alembic, always over the connection (and in the transaction) that `schema` hands in."""

from alembic import context

from openagent.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
