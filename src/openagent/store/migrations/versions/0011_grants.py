"""What people allowed in a session for longer than once. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "grants",
        sa.Column(
            "session_id",
            sa.String().with_variant(sa.String(collation="C"), "postgresql"),
            sa.ForeignKey("sessions.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("entry", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "id"),
    )


def downgrade() -> None:
    op.drop_table("grants")
