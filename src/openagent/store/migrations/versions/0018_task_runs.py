"""Tasks on their way to pull requests. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "task_runs",
        sa.Column("task", sa.String, primary_key=True),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("task_runs")
