"""The first tables.

Frozen: a later change of `tables.py` comes with a revision of its own, never with an edit here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_session_id = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_row_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")

_APPEND_ONLY_AUDIT = {
    "sqlite": (
        "CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END",
        "CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit table is append-only'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit table is append-only'; END $$",
        "CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()",
    ),
}


def _session_key() -> "sa.Column[str]":
    return sa.Column("session_id", _session_id, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    _create_sessions()
    _create_what_belongs_to_sessions()
    _create_accounts()


def downgrade() -> None:
    for table in (
        "audit",
        "token_usage",
        "collections",
        "inbox",
        "events",
        "raw_exchanges",
        "messages",
        "sessions",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change()")


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", _session_id, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("cwd", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("message_count", sa.Integer, nullable=False),
        sa.Column("turn_count", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("open_turn", sa.Integer, nullable=False),
        sa.Column("parent", _session_id),
        sa.Column("forked_from", _session_id),
        sa.Column("usage", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
    )
    op.create_index("sessions_by_activity", "sessions", ["updated_at", "id"])
    op.create_index("sessions_of_a_workspace", "sessions", ["cwd", "updated_at", "id"])
    op.create_index(
        "sessions_with_an_open_turn",
        "sessions",
        ["open_turn"],
        sqlite_where=sa.text("open_turn > 0"),
        postgresql_where=sa.text("open_turn > 0"),
    )


def _create_what_belongs_to_sessions() -> None:
    op.create_table(
        "messages",
        _session_key(),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("size_tokens", sa.Integer, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("model", sa.String),
        sa.Column("input_tokens", sa.Integer),
        sa.Column("output_tokens", sa.Integer),
        sa.Column("cached_tokens", sa.Integer),
        sa.Column("cache_write_tokens", sa.Integer),
        sa.Column("reasoning_tokens", sa.Integer),
        sa.Column("estimated", sa.Boolean),
        sa.Column("cost_usd", sa.Float),
        sa.Column("latency_ms", sa.Float),
        sa.Column("stop_reason", sa.String),
        sa.Column("parts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "number"),
    )
    op.create_table(
        "raw_exchanges",
        _session_key(),
        sa.Column("message_number", sa.Integer, nullable=False),
        sa.Column("keyframe", sa.Integer, nullable=False),
        sa.Column("base", sa.Integer),
        sa.Column("shared_length", sa.Integer, nullable=False),
        sa.Column("truncated", sa.Boolean, nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("response", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "message_number"),
    )
    op.create_table(
        "events",
        _session_key(),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("message_number", sa.Integer),
        sa.Column("payload", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "seq"),
    )
    op.create_table(
        "inbox",
        sa.Column("position", _row_number, primary_key=True),
        _session_key(),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
    )
    op.create_index("inbox_of_a_session", "inbox", ["session_id", "position"])
    op.create_table(
        "collections",
        _session_key(),
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("last_message", sa.Integer, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "id"),
    )


def _create_accounts() -> None:
    op.create_table(
        "token_usage",
        sa.Column("id", _row_number, primary_key=True),
        sa.Column("session_id", _session_id, nullable=False),
        sa.Column("message_number", sa.Integer),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("activity", sa.String, nullable=False),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("cached_tokens", sa.Integer, nullable=False),
        sa.Column("cache_write_tokens", sa.Integer, nullable=False),
        sa.Column("reasoning_tokens", sa.Integer, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("cost_usd", sa.Float),
    )
    op.create_index("token_usage_by_time", "token_usage", ["at"])
    op.create_index("token_usage_of_a_session", "token_usage", ["session_id"])
    op.create_table(
        "audit",
        sa.Column("id", _row_number, primary_key=True),
        sa.Column("session_id", _session_id, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("entry", sa.Text, nullable=False),
    )
    op.create_index("audit_of_a_session", "audit", ["session_id", "id"])
    for statement in _APPEND_ONLY_AUDIT[op.get_bind().dialect.name]:
        op.execute(statement)
