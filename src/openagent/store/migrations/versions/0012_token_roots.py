"""Tokens work below folders. Frozen.

Those made before were for no folder in particular. What could already do everything keeps all folders; the others get
none, and are made again for the folders they are meant for. Answers that could be given again held secrets of tokens
in clear for a day: they are gone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("access_tokens", sa.Column("roots", sa.Text, nullable=False, server_default="[]"))
    tokens = sa.table(
        "access_tokens", sa.column("roots", sa.Text), sa.column("kind", sa.String), sa.column("scopes", sa.String)
    )
    was_everything = sa.or_(tokens.c.kind == "browser", tokens.c.scopes.contains("admin"))
    op.execute(tokens.update().where(was_everything).values(roots='["/"]'))
    op.execute(sa.table("replays").delete())


def downgrade() -> None:
    op.drop_column("access_tokens", "roots")
