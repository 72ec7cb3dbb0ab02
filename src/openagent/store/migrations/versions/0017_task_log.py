"""What tasks wait for, what belongs to them, and what happened with them. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("tasks", sa.Column("after", sa.Text, nullable=False, server_default="[]"))
    op.add_column("tasks", sa.Column("links", sa.Text, nullable=False, server_default="[]"))
    op.create_table(
        "task_log",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("task", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_index("task_log_of_a_task", "task_log", ["task", "id"])


def downgrade() -> None:
    op.drop_table("task_log")
    op.drop_column("tasks", "links")
    op.drop_column("tasks", "after")
