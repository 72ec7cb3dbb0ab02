"""The daemons that share this database, and which of them has a session. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "daemons",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("alive_until", sa.Float, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("home", sa.Text, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
    )
    op.add_column("sessions", sa.Column("daemon", sa.String))


def downgrade() -> None:
    op.drop_column("sessions", "daemon")
    op.drop_table("daemons")
