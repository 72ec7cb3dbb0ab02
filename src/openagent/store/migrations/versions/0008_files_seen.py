"""What sessions have seen of files. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "files_seen",
        sa.Column(
            "session_id",
            sa.String().with_variant(sa.String(collation="C"), "postgresql"),
            sa.ForeignKey("sessions.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("message_number", sa.Integer, nullable=False),
        sa.Column("files", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "message_number"),
    )


def downgrade() -> None:
    op.drop_table("files_seen")
