"""Some rows of the recorded tables: the same call still asks, ends, tells and changes the same.

`python -m tests.interaction.calls_table` compares all of them.
"""

import os
import pwd

import pytest

from openagent.protocol.sessions import MODES
from tests.jail.conftest import needs_bwrap

from .calls_table import CALLS, SANDBOXES, decisive, record, recorded, wanted

pytestmark = pytest.mark.anyio

ROWS = [
    ("bwrap", "plan", "appends"),
    ("bwrap", "ask", "reading-that-writes"),
    ("bwrap", "ask", "reading-that-writes-then-reads"),
    ("bwrap", "ask", "worktree-appends-and-commits"),
    ("bwrap", "edits", "appends-then-unsaved"),
    ("bwrap", "auto", "worktree-appends-and-commits"),
    ("bwrap", "auto", "worktree-commits-then-reads"),
    ("bwrap", "auto", "appends-then-unsaved-by-a-program"),
    ("bwrap", "auto", "appends-then-outside"),
    ("bwrap", "full", "appends-then-unsaved"),
    ("bwrap-apart", "ask", "reading-that-writes"),
    ("host", "ask", "appends"),
    ("host", "full", "appends-then-unsaved"),
]


@pytest.mark.parametrize(("sandbox", "mode", "name"), ROWS, ids="-".join)
async def test_a_call_is_decided_and_ends_as_recorded(sandbox: str, mode: str, name: str) -> None:
    if sandbox != "host" and needs_bwrap.args[0]:
        pytest.skip("bubblewrap is not installed")
    if not os.access(pwd.getpwuid(os.getuid()).pw_dir, os.W_OK):
        pytest.skip("the home directory cannot be written")
    known = [row for row in recorded(sandbox) if (row["mode"], row["call"]) == (mode, name)]
    assert known
    for row in known:
        made = await record(sandbox, mode, name, row["answer"] or "allow")
        assert decisive(made) == decisive(row)


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_the_tables_have_every_call_in_every_mode(sandbox: str) -> None:
    rows = {(row["mode"], row["call"]) for row in recorded(sandbox)}
    assert rows == set(wanted(sandbox))
    assert {mode for mode, _ in rows} <= set(MODES)
    assert {name for _, name in rows} <= set(CALLS)
