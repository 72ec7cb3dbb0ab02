"""Tools that a template does not have, whatever else it has. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("agent_templates", sa.Column("disabled_tools", sa.Text))


def downgrade() -> None:
    op.drop_column("agent_templates", "disabled_tools")
