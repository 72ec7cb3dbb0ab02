"""Invitations, and passwords of people without a login provider. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("people", sa.Column("password", sa.Text, nullable=False, server_default=""))
    op.add_column("people", sa.Column("invitation", sa.LargeBinary))
    op.add_column("people", sa.Column("invited_until", sa.Float))


def downgrade() -> None:
    for column in ("invited_until", "invitation", "password"):
        op.drop_column("people", column)
