"""Logins that somebody has gone away for. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "pending_logins",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("user_code", sa.String, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_index("pending_logins_by_code", "pending_logins", ["user_code"])


def downgrade() -> None:
    op.drop_table("pending_logins")
