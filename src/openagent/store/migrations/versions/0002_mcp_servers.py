"""MCP servers that were added."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "mcp_servers",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("mcp_servers")
