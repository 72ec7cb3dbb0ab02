"""People, teams, and whose what is. What was there before is of the one who has the machine. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
_session_id = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_OWNED = (("sessions", "owner"), ("sessions", "team"), ("access_tokens", "person"), ("token_usage", "owner"))


def _session() -> "sa.Column[str]":
    return sa.Column("session_id", _session_id, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False)


def _person() -> "sa.Column[str]":
    return sa.Column("person", sa.String, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    for table, column in _OWNED:
        op.add_column(table, sa.Column(column, sa.String, nullable=False, server_default=""))
    op.create_index("sessions_of_an_owner", "sessions", ["owner", "updated_at", "id"])
    op.create_index("token_usage_by_owner", "token_usage", ["owner", "at"])
    op.create_table(
        "people",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("email", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("last_login_at", sa.Float),
        sa.Column("folder", sa.Text, nullable=False),
    )
    op.create_index("people_by_email", "people", ["email"], unique=True)
    op.create_table(
        "teams",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
    )
    op.create_index("teams_by_name", "teams", ["name"], unique=True)
    op.create_table(
        "team_members",
        sa.Column("team", sa.String, sa.ForeignKey("teams.id", ondelete="CASCADE"), nullable=False),
        _person(),
        sa.PrimaryKeyConstraint("team", "person"),
    )
    op.create_table(
        "session_links",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        _session(),
        sa.Column("writes", sa.Boolean, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("links_of_a_session", "session_links", ["session_id"])
    op.create_table(
        "session_guests",
        _session(),
        _person(),
        sa.Column("writes", sa.Boolean, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "person"),
    )


def downgrade() -> None:
    for table in ("session_guests", "session_links", "team_members", "teams", "people"):
        op.drop_table(table)
    op.drop_index("token_usage_by_owner", "token_usage")
    op.drop_index("sessions_of_an_owner", "sessions")
    for table, column in _OWNED:
        op.drop_column(table, column)
