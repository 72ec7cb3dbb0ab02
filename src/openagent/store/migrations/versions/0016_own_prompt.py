"""Templates whose prompt takes the place of the usual one. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("agent_templates", sa.Column("replace_prompt", sa.Boolean, nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("agent_templates", "replace_prompt")
