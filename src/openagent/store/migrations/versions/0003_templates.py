"""Templates, and the sessions made from them and working for others."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("template", sa.String, nullable=False, server_default=""))
    op.create_index("sessions_of_a_parent", "sessions", ["parent"])
    op.create_table(
        "agent_templates",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("preferred_provider", sa.String, nullable=False),
        sa.Column("preferred_model", sa.String, nullable=False),
        sa.Column("mode", sa.String),
        sa.Column("max_steps", sa.Integer),
        sa.Column("timeout", sa.Float),
        sa.Column("budget_usd", sa.Float),
        sa.Column("updated_at", sa.Float, nullable=False),
        sa.Column("tools", sa.Text),
        sa.Column("mcps", sa.Text),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("system_prompt", sa.Text, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("agent_templates")
    op.drop_index("sessions_of_a_parent", "sessions")
    op.drop_column("sessions", "template")
