"""What sessions have at work beside their turns. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "background",
        sa.Column(
            "session_id",
            sa.String().with_variant(sa.String(collation="C"), "postgresql"),
            sa.ForeignKey("sessions.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("work", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "id"),
    )


def downgrade() -> None:
    op.drop_table("background")
