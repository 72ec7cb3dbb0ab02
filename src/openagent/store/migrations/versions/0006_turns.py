"""How turns ended, and answers that are still streaming. Frozen."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_session_id = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_row_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_BATCH = 500


def _session_key() -> "sa.Column[str]":
    return sa.Column("session_id", _session_id, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    turns = op.create_table(
        "turns",
        _session_key(),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.Float, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "turn"),
    )
    op.create_table(
        "drafts",
        sa.Column("position", _row_number, primary_key=True),
        _session_key(),
        sa.Column("piece", sa.Text, nullable=False),
    )
    op.create_index("drafts_of_a_session", "drafts", ["session_id", "position"])
    _fill(turns)


def _fill(turns: sa.Table) -> None:
    """From the events that told of the ends at the time."""
    connection = op.get_bind()
    events = sa.table("events", sa.column("session_id"), sa.column("seq"), sa.column("type"), sa.column("payload"))
    completed = (
        sa.select(events.c.session_id, events.c.payload)
        .where(events.c.type == "turn.completed")
        .order_by(events.c.session_id, events.c.seq)
    )
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for session, payload in connection.execute(completed):
        told = json.loads(payload)
        found[session, told["turn"]] = _row(session, told)  # the later word counts, should a turn be closed twice
    new = list(found.values())
    for first in range(0, len(new), _BATCH):
        connection.execute(sa.insert(turns), new[first : first + _BATCH])


def _row(session: str, told: dict[str, Any]) -> dict[str, Any]:
    kept = ("turn", "reason", "duration_ms", "steps", "usage", "cost_usd", "error")
    record = {name: told[name] for name in kept if name in told}
    ended_at = told.get("at", 0.0)
    return {
        "session_id": session,
        "turn": told["turn"],
        "ended_at": ended_at,
        "reason": told["reason"],
        "record": json.dumps({**record, "ended_at": ended_at}),
    }


def downgrade() -> None:
    op.drop_table("drafts")
    op.drop_table("turns")
