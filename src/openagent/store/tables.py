"""The tables. JSON is kept as text written and read by msgspec; wide columns come last so that SQLite need not walk
over them to reach the narrow ones."""

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    event,
    false,
)

metadata = MetaData()

SessionId = String().with_variant(String(collation="C"), "postgresql")
"""Compared byte by byte on both databases: the beginning of an id is looked up as a range."""
RowNumber = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only in an INTEGER column."""


def _session_key() -> Column[str]:
    return Column("session_id", SessionId, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False)


sessions = Table(
    "sessions",
    metadata,
    Column("id", SessionId, primary_key=True),
    Column("name", Text, nullable=False),
    Column("cwd", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("status", String, nullable=False),
    Column("message_count", Integer, nullable=False),
    Column("turn_count", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("open_turn", Integer, nullable=False),
    Column("daemon", String),
    Column("queued", Integer, nullable=False, server_default="0"),
    Column("held", Boolean, nullable=False, server_default=false()),
    Column("parent", SessionId),
    Column("forked_from", SessionId),
    Column("template", String, nullable=False, server_default=""),
    Column("archived", Boolean, nullable=False, server_default=false()),
    Column("agent", String),
    Column("brought", Integer, nullable=False, server_default="0"),
    Column("owner", String, nullable=False, server_default=""),
    Column("team", String, nullable=False, server_default=""),
    Column("origin", Text),
    Column("usage", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("plan", Text, nullable=False),
)
Index("sessions_of_an_owner", sessions.c.owner, sessions.c.updated_at, sessions.c.id)
Index("sessions_of_a_parent", sessions.c.parent)
Index("sessions_by_activity", sessions.c.updated_at, sessions.c.id)
Index("sessions_of_a_workspace", sessions.c.cwd, sessions.c.updated_at, sessions.c.id)
_open_turns = Index("sessions_with_an_open_turn", sessions.c.open_turn)


@event.listens_for(sessions, "before_create")
def _index_open_turns_only(_table: Table, connection: Connection, **_details: Any) -> None:
    # Said no earlier: SQLAlchemy loads the whole dialect of a database that an option is meant for.
    _open_turns.dialect_kwargs[f"{connection.dialect.name}_where"] = sessions.c.open_turn > 0


messages = Table(
    "messages",
    metadata,
    _session_key(),
    Column("number", Integer, nullable=False),
    Column("size_tokens", Integer, nullable=False),
    Column("role", String, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("model", String),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cache_write_tokens", Integer),
    Column("reasoning_tokens", Integer),
    Column("estimated", Boolean),
    Column("cost_usd", Float),
    Column("latency_ms", Float),
    Column("stop_reason", String),
    Column("parts", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "number"),
)

raw_exchanges = Table(
    "raw_exchanges",
    metadata,
    _session_key(),
    Column("message_number", Integer, nullable=False),
    Column("keyframe", Integer, nullable=False),
    Column("base", Integer),
    Column("shared_length", Integer, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("response", LargeBinary, nullable=False),
    PrimaryKeyConstraint("session_id", "message_number"),
)

events = Table(
    "events",
    metadata,
    _session_key(),
    Column("seq", Integer, nullable=False),
    Column("type", String, nullable=False),
    Column("message_number", Integer),
    Column("payload", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "seq"),
)

inbox = Table(
    "inbox",
    metadata,
    Column("position", RowNumber, primary_key=True),
    _session_key(),
    Column("id", String, nullable=False),
    Column("message", Text, nullable=False),
)
Index("inbox_of_a_session", inbox.c.session_id, inbox.c.position)

collections = Table(
    "collections",
    metadata,
    _session_key(),
    Column("id", Integer, nullable=False),
    Column("last_message", Integer, nullable=False),
    Column("record", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "id"),
)

turns = Table(
    "turns",
    metadata,
    _session_key(),
    Column("turn", Integer, nullable=False),
    Column("ended_at", Float, nullable=False),
    Column("reason", String, nullable=False),
    Column("record", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "turn"),
)

drafts = Table(
    "drafts",
    metadata,
    Column("position", RowNumber, primary_key=True),
    _session_key(),
    Column("piece", Text, nullable=False),
)
Index("drafts_of_a_session", drafts.c.session_id, drafts.c.position)

background = Table(
    "background",
    metadata,
    _session_key(),
    Column("id", String, nullable=False),
    Column("work", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "id"),
)

files_seen = Table(
    "files_seen",
    metadata,
    _session_key(),
    Column("message_number", Integer, nullable=False),
    Column("files", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "message_number"),
)

token_usage = Table(
    "token_usage",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("session_id", SessionId, nullable=False),
    Column("message_number", Integer),
    Column("at", Float, nullable=False),
    Column("model", String, nullable=False),
    Column("activity", String, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cache_write_tokens", Integer, nullable=False),
    Column("reasoning_tokens", Integer, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("cost_usd", Float),
    Column("owner", String, nullable=False, server_default=""),
)
Index("token_usage_by_owner", token_usage.c.owner, token_usage.c.at)
Index("token_usage_by_time", token_usage.c.at)
Index("token_usage_of_a_session", token_usage.c.session_id)

history_files = Table(
    "history_files",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("machine", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("source", Text, nullable=False),
    Column("counted", Text, nullable=False, server_default=""),
    Column("problem", Text, nullable=False, server_default=""),
    Column("imported", Text, nullable=False, server_default=""),
)
Index("history_files_of_a_machine", history_files.c.machine, history_files.c.source, unique=True)


def _history_file() -> Column[int]:
    return Column("file", RowNumber, ForeignKey("history_files.id", ondelete="CASCADE"), nullable=False)


history_usage = Table(
    "history_usage",
    metadata,
    _history_file(),
    Column("day", String, nullable=False),
    Column("model", String, nullable=False),
    Column("project", Text, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("unpriced", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("reasoning_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float, nullable=False),
    PrimaryKeyConstraint("file", "day", "model", "project"),
)

history_requests = Table(
    "history_requests",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    _history_file(),
)
Index("history_requests_of_a_file", history_requests.c.file)

audit = Table(
    "audit",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("session_id", SessionId, nullable=False),
    Column("at", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("entry", Text, nullable=False),
)
Index("audit_of_a_session", audit.c.session_id, audit.c.id)

grants = Table(
    "grants",
    metadata,
    _session_key(),
    Column("id", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("entry", Text, nullable=False),
    PrimaryKeyConstraint("session_id", "id"),
)

mcp_servers = Table(
    "mcp_servers",
    metadata,
    Column("name", String, primary_key=True),
    Column("url", Text, nullable=False),
    Column("is_enabled", Boolean, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("description", Text, nullable=False),
    Column("entry", Text, nullable=False),
)

agent_templates = Table(
    "agent_templates",
    metadata,
    Column("name", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("preferred_provider", String, nullable=False),
    Column("preferred_model", String, nullable=False),
    Column("mode", String),
    Column("max_steps", Integer),
    Column("timeout", Float),
    Column("budget_usd", Float),
    Column("updated_at", Float, nullable=False),
    Column("replace_prompt", Boolean, nullable=False, server_default=false()),
    Column("label", String, nullable=False, server_default=""),
    Column("tools", Text),
    Column("mcps", Text),
    Column("disabled_tools", Text),
    Column("description", Text, nullable=False),
    Column("system_prompt", Text, nullable=False),
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("position", Float, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("owner", String, nullable=False),
    Column("session", String, nullable=False),
    Column("cwd", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("after", Text, nullable=False, server_default="[]"),
    Column("links", Text, nullable=False, server_default="[]"),
)

task_log = Table(
    "task_log",
    metadata,
    Column("id", RowNumber, primary_key=True),
    Column("task", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("by", String, nullable=False),
    Column("text", Text, nullable=False),
)
Index("task_log_of_a_task", task_log.c.task, task_log.c.id)

task_runs = Table(
    "task_runs",
    metadata,
    Column("task", String, primary_key=True),
    Column("open", Boolean, nullable=False),
    Column("record", Text, nullable=False),
)

APPEND_ONLY_AUDIT = {
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
for _dialect, _statements in APPEND_ONLY_AUDIT.items():
    for _statement in _statements:
        event.listen(audit, "after_create", DDL(_statement).execute_if(dialect=_dialect))

daemons = Table(
    "daemons",
    metadata,
    Column("id", String, primary_key=True),
    Column("alive_until", Float, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("host", String, nullable=False),
    Column("home", Text, nullable=False),
    Column("place", Text, nullable=False),
)

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("scopes", String, nullable=False),
    Column("roots", Text, nullable=False, server_default="[]"),
    Column("created_at", Float, nullable=False),
    Column("last_used_at", Float),
    Column("expires_at", Float),
    Column("person", String, nullable=False, server_default=""),
    Column("digest", LargeBinary, nullable=False),
)

people = Table(
    "people",
    metadata,
    Column("id", String, primary_key=True),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("email", String, nullable=False),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("last_login_at", Float),
    Column("folder", Text, nullable=False),
    Column("limits", Text, nullable=False, server_default="{}"),
    Column("removed_at", Float, nullable=False, server_default="0"),
    Column("password", Text, nullable=False, server_default=""),
    Column("invitation", LargeBinary),
    Column("invited_until", Float),
)
Index("people_by_email", people.c.email, people.c.removed_at, unique=True)

teams = Table(
    "teams",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("folder", Text, nullable=False),
    Column("limits", Text, nullable=False, server_default="{}"),
)
Index("teams_by_name", teams.c.name, unique=True)

team_members = Table(
    "team_members",
    metadata,
    Column("team", String, ForeignKey("teams.id", ondelete="CASCADE"), nullable=False),
    Column("person", String, ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("team", "person"),
)

quota_use = Table(
    "quota_use",
    metadata,
    Column("holder", String, nullable=False),
    Column("period", String, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("money", BigInteger, nullable=False),
    Column("open", Integer, nullable=False),
    PrimaryKeyConstraint("holder", "period"),
)

pending_logins = Table(
    "pending_logins",
    metadata,
    Column("id", String, primary_key=True),
    Column("user_code", String, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
Index("pending_logins_by_code", pending_logins.c.user_code)

session_links = Table(
    "session_links",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    _session_key(),
    Column("writes", Boolean, nullable=False),
    Column("expires_at", Float, nullable=False),
)
Index("links_of_a_session", session_links.c.session_id)

session_guests = Table(
    "session_guests",
    metadata,
    _session_key(),
    Column("person", String, ForeignKey("people.id", ondelete="CASCADE"), nullable=False),
    Column("writes", Boolean, nullable=False),
    Column("expires_at", Float, nullable=False),
    PrimaryKeyConstraint("session_id", "person"),
)

replays = Table(
    "replays",
    metadata,
    Column("caller", String, nullable=False),
    Column("key", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("status", Integer, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("headers", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("caller", "key"),
)
Index("replays_by_time", replays.c.at)
