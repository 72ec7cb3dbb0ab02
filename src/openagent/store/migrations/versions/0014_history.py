"""Sessions that other agents left on this machine: whose a session was, what was read, and what it cost. Frozen."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("sessions", sa.Column("agent", sa.String))
    op.add_column("sessions", sa.Column("brought", sa.Integer, nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("origin", sa.Text))
    op.create_table(
        "history_files",
        sa.Column("id", _number, primary_key=True),
        sa.Column("machine", sa.String, nullable=False),
        sa.Column("agent", sa.String, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("counted", sa.Text, nullable=False, server_default=""),
        sa.Column("problem", sa.Text, nullable=False, server_default=""),
        sa.Column("imported", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("history_files_of_a_machine", "history_files", ["machine", "source"], unique=True)
    op.create_table(
        "history_usage",
        sa.Column("file", _number, sa.ForeignKey("history_files.id", ondelete="CASCADE"), nullable=False),
        sa.Column("day", sa.String, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("unpriced", sa.Integer, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger, nullable=False),
        sa.Column("reasoning_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("file", "day", "model", "project"),
    )
    op.create_table(
        "history_requests",
        sa.Column("key", _number, primary_key=True, autoincrement=False),
        sa.Column("file", _number, sa.ForeignKey("history_files.id", ondelete="CASCADE"), nullable=False),
    )
    op.create_index("history_requests_of_a_file", "history_requests", ["file"])


def downgrade() -> None:
    for table in ("history_requests", "history_usage", "history_files"):
        op.drop_table(table)
    for column in ("origin", "brought", "agent"):
        op.drop_column("sessions", column)
