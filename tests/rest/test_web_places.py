"""Everything the daemon can do has a place in the web app."""

import re
from pathlib import Path

from openagent.protocol.ops import ALL_OPS

WEB = Path(__file__).parents[2] / "web" / "src"
REASONS = {
    "session.get": "`session.list` and attaching tell the same of a session",
    "queue.show": "attaching tells what waits, and `queue.changed` each change of it",
    "task.get": "`tasks.list` tells all of each task",
    "templates.get": "`templates.list` tells all of each template",
    "mcp.session.set": "an editor passes its own servers along",
    "web.login": "makes the address that logs a browser in: whoever sees the web is in already",
    "web.close": "a page that closes the port it came from would be cut off: `openagent web --off`",
    "terminal.close": "a terminal goes on while its tab is left, and ends with `exit` or unwatched",
    "index.watch": "holds a connection open: for `openagent index watch`; the web builds when asked",
    "metrics.export": "for programs that collect it; people see the same on the dashboard and in analytics",
    "report.send": "where reports go is a setting that sends by itself; who is at the web reads the report there",
    **dict.fromkeys(
        ("keys.add", "keys.list", "keys.remove"),
        "a key of one's own is typed unseen at a terminal: `openagent auth add --own`, `--team`",
    ),
    "daemon.stop": "a page that stops what serves it could not start it again: `openagent stop`",
}


def asked_by_the_web() -> set[str]:
    """The ops whose names stand in quotes in what the browser runs."""
    said: set[str] = set()
    for file in WEB.rglob("*.ts*"):
        if "protocol" not in file.relative_to(WEB).parts and not file.stem.endswith(".test"):
            said |= set(re.findall(r"""['"`]([a-z_]+(?:\.[a-z_]+)*)['"`]""", file.read_text()))
    return said


def test_every_op_has_a_place_in_the_web_or_a_reason_to_have_none() -> None:
    assert WEB.is_dir()
    without = {op.tag for op in ALL_OPS} - asked_by_the_web()
    assert without - set(REASONS) == set(), "ops that the web never sends: give each a place, or a reason here"
    assert set(REASONS) - without == set(), "reasons for ops that do have a place, or are gone"
    later = {tag for tag, reason in REASONS.items() if re.search(r"\b(not yet|later|to do)\b", reason, re.I)}
    assert later == set(), "a reason says why an op needs no place in the web, not that one will come"
