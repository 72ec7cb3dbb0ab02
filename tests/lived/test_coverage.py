"""Nothing that this program offers goes unmet: a tool, an op or an event that no real exchange meets fails here.

The tour is taken part by part, in one process, and what went over the line is gathered. Whoever adds an op, an event or
a tool adds it to the tour, where it belongs (tour.py).
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from openagent.protocol.events import AnyEvent
from openagent.protocol.ops import ALL_OPS
from openagent.tools.registry import built_in_tools

from .harness import Met
from .tour import PARTS

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tour")]

MET = Met()
TAKEN: set[str] = set()
TRAIL: set[str] = set()


async def take(part: str, root: Path) -> None:
    root.mkdir(exist_ok=True)
    await PARTS[part](root, MET)
    TAKEN.add(part)
    TRAIL.update(told_in(root))


def told_in(root: Path) -> set[str]:
    """Ops that the audit trails of a part's daemons tell of, each with who sent it and from where."""
    found: set[str] = set()
    for file in root.rglob("openagent.db"):
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            rows = [json.loads(entry)["detail"] for (entry,) in database.execute("SELECT entry FROM audit")]
        found |= {row["op"] for row in rows if "op" in row and {"by", "actor", "from"} <= row.keys()}
    return found


@pytest.mark.parametrize("part", PARTS)
async def test_a_part_of_the_house_is_lived_in(tmp_path: Path, part: str) -> None:
    await take(part, tmp_path)


@pytest.mark.timeout(600)  # alone, it takes the whole tour
async def test_every_tool_op_and_event_is_met(tmp_path: Path) -> None:
    for number, part in enumerate(set(PARTS) - TAKEN):
        await take(part, tmp_path / str(number))  # the path of a socket has to be short
    changing = {op.tag for op in ALL_OPS if op.changes}
    assert sorted(changing - TRAIL) == [], "ops that change something and left no row in the audit trail"
    ops = {op.tag for op in ALL_OPS}
    events = {str(event.__struct_config__.tag) for event in AnyEvent.__args__}
    assert sorted(ops - MET.ops) == [], "ops that nothing was answered to"
    assert sorted(events - MET.events) == [], "events that nobody heard"
    assert sorted(MET.offered - MET.tools) == [], "tools that no model called with success"
    assert {tool.name for tool in built_in_tools()} <= MET.offered, "the tour does not switch everything on"
