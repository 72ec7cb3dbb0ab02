"""What people and teams may use, and have. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    for table in ("people", "teams"):
        op.add_column(table, sa.Column("limits", sa.Text, nullable=False, server_default="{}"))
    op.create_table(
        "quota_use",
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("period", sa.String, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("money", sa.BigInteger, nullable=False),
        sa.Column("open", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("holder", "period"),
    )


def downgrade() -> None:
    op.drop_table("quota_use")
    for table in ("people", "teams"):
        op.drop_column(table, "limits")
