"""Tokens, and answers that are given again. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "access_tokens",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("scopes", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("last_used_at", sa.Float),
        sa.Column("expires_at", sa.Float),
        sa.Column("digest", sa.LargeBinary, nullable=False),
    )
    replays = op.create_table(
        "replays",
        sa.Column("caller", sa.String, nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("headers", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("caller", "key"),
    )
    op.create_index("replays_by_time", replays.name, ["at"])


def downgrade() -> None:
    op.drop_table("replays")
    op.drop_table("access_tokens")
