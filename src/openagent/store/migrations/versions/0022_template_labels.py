"""On which workers the sessions of a template run. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("agent_templates", sa.Column("label", sa.String, nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("agent_templates", "label")
