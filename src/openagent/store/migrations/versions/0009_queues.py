"""How many messages wait in a session, and whether they are held back. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("queued", sa.Integer, nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(
        "UPDATE sessions SET queued = (SELECT count(*) FROM inbox WHERE inbox.session_id = sessions.id) "
        "WHERE id IN (SELECT session_id FROM inbox)"
    )


def downgrade() -> None:
    op.drop_column("sessions", "held")
    op.drop_column("sessions", "queued")
