"""People who were removed: what is theirs keeps their name, and their address is free again. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("people", sa.Column("removed_at", sa.Float, nullable=False, server_default="0"))
    op.drop_index("people_by_email", "people")
    op.create_index("people_by_email", "people", ["email", "removed_at"], unique=True)


def downgrade() -> None:
    op.execute("DELETE FROM people WHERE removed_at > 0")
    op.drop_index("people_by_email", "people")
    op.create_index("people_by_email", "people", ["email"], unique=True)
    op.drop_column("people", "removed_at")
