"""Every row has an owner, and every query a tenant."""

import inspect

from openagent.plugins.store import Store
from openagent.store.tables import metadata, sessions

HOUSE = {
    "daemons": "processes of the installation",
    "mcp_servers": "the installation's: what changes them is for its admins",
    "agent_templates": "the installation's: what changes them is for its admins",
    "history_files": "files of the one who has the machine",
    "history_usage": "of such a file",
    "history_requests": "of such a file",
    "pending_logins": "nobody's yet",
    "quota_use": "each row is what a person or a team has used",
    "people": "each row is a person",
    "teams": "each row is a team",
    "tasks": "of the folder they are about, which is a person's or a team's",
    "task_log": "of a task",
    "task_runs": "of a task",
    "replays": "of the token that sent the request",
}
"""Tables without an owner of their own, and whose their rows are."""
OWNER = ("owner", "person")
UNASKED = {
    "register": "of this daemon",
    "renew": "of this daemon",
    "resign": "of this daemon",
    "kept": "the sessions in the hands of this daemon",
    "living": "the daemons that work on this database",
    "unfinished_sessions": "of whoever they are: recovery",
    "waiting_sessions": "of whoever they are: recovery",
    "count_sessions": "a number, for admins",
    "count_queued": "a number, for admins",
    **dict.fromkeys(
        ("turns_ended", "usage_totals", "usage_rows", "failures"),
        "the whole installation's figures, by ops that are refused to whoever sees a part of it",
    ),
    "grants": "everybody's, of which the one who asks is told their own (tests/access/test_matrix.py)",
    **dict.fromkeys(
        ("mcp_servers", "put_mcp_server", "remove_mcp_server", "templates", "save_template", "remove_template"),
        "the installation's own",
    ),
    "close": "of this process",
}
"""What is asked of the store for nobody in particular."""


def test_every_row_has_an_owner() -> None:
    without = {
        table.name
        for table in metadata.tables.values()
        if not set(OWNER) & set(table.c.keys()) and "session_id" not in table.c and table.name not in HOUSE
    }
    assert not without, f"say whose the rows of these tables are: {without}"
    assert {"owner", "team"} <= set(sessions.c.keys())


def test_every_query_names_a_session_or_takes_a_tenant() -> None:
    asked = {name: inspect.signature(each) for name, each in vars(Store).items() if inspect.iscoroutinefunction(each)}
    open_ended = {
        name
        for name, signature in asked.items()
        if not {"session", "sessions", "ids", "info", "batch", "source", "within"} & set(signature.parameters)
    }
    assert open_ended - set(UNASKED) == set()
