"""What a message is for: an effect where it is known, none where it is not."""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from openagent.protocol import events as e
from openagent.protocol.index import IndexBuild
from openagent.protocol.usage import UsageAsk

from ..interaction.house import house, new_session
from ..models.place import turn

pytestmark = pytest.mark.anyio
with_dspy = pytest.mark.skipif(importlib.util.find_spec("dspy") is None, reason="needs the extra `intent`")

ON = "[intent]\nenabled = true\n"


def script(answer: dict[str, Any]) -> dict[str, Any]:
    asked = {"name": "intent", "match": {"last_user": "user_input"}, "steps": [answer], "loop": True}
    return {"conversations": [asked, {"name": "main", "steps": [{"text": "Here."}], "loop": True}]}


def intent(kind: str, confidence: float, query: str = "") -> dict[str, Any]:
    fields = {
        "intent_type": kind,
        "entities": '["harbour.py"]',
        "action": "search",
        "query": query or "none",
        "confidence": confidence,
    }
    text = "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items())
    return {"text": text + "[[ ## completed ## ]]"}


def detected(seen: list[e.Event]) -> e.IntentDetected:
    (found,) = [event for event in seen if isinstance(event, e.IntentDetected)]
    return found


@with_dspy
async def test_research_searches_by_its_query_and_names_tools(tmp_path: Path) -> None:
    steps = script(intent("research", 0.9, "dock_ship moorings"))
    async with house(tmp_path, steps, config=ON + "timeout = 60\n") as h, await h.client() as client:
        code = 'def dock_ship(ship):\n    """Tie a ship to the moorings."""\n    return ship.moorings\n'
        (h.workspace / "harbour.py").write_text(code)
        await client.request(IndexBuild(id=client.next_id(), cwd=str(h.workspace)))
        session = await new_session(h, client)
        ended, seen = await turn(client, session, "Tell me how that thing we spoke of works.")
        assert ended.reason == "done"
        found = detected(seen)
        assert found.used
        assert found.intent is not None
        assert (found.intent.type, found.intent.entities) == ("research", ["harbour.py"])
        body = h.sim.requests[-1].body
        assert "def dock_ship" in body, "the message's own words would not have found it"
        assert "Tools for that: search_code, grep, read_file." in body
        report = await client.request(UsageAsk(id=client.next_id(), by="activity"))
        assert {row.key: row.requests for row in report.rows}["intent"] == 1


@with_dspy
@pytest.mark.parametrize(
    ("answer", "config", "why"),
    [
        (intent("control", 0.3), ON + "timeout = 60\n", "Unsure: 0.30 of 0.6."),
        ({"text": "Sorry?"}, ON + "timeout = 60\n", "No intent could be found"),
        ({"fault": "unauthorized"}, ON + "timeout = 60\n", "No intent could be found"),
        ({"text": "late", "latency_ms": 5_000}, ON + "timeout = 0.2\n", "within 0.2 s"),
    ],
)
async def test_what_is_unsure_broken_or_slow_is_not_in_the_way(
    tmp_path: Path, answer: dict[str, Any], config: str, why: str
) -> None:
    async with house(tmp_path, script(answer), config=config) as h, await h.client() as client:
        ended, seen = await turn(client, await new_session(h, client), "Please mend the harbour.")
        assert (ended.reason, ended.text) == ("done", "Here.")
        assert not detected(seen).used
        assert why in detected(seen).note
        assert "Tools for that" not in h.sim.requests[-1].body


@pytest.mark.skipif(importlib.util.find_spec("dspy") is not None, reason="the extra is installed")
async def test_without_the_extra_a_turn_goes_on_while_it_is_fetched_and_tells_why_it_cannot_be(tmp_path: Path) -> None:
    async with house(tmp_path, script({"text": "unasked"}), config=ON) as h, await h.client() as client:
        session = await new_session(h, client)
        ended, seen = await turn(client, session, "Please mend the harbour.")
        assert (ended.reason, ended.text) == ("done", "Here.")
        assert "is being fetched" in detected(seen).note
        assert len(h.sim.requests) == 1
        async with asyncio.timeout(60):
            while "is being fetched" in detected(seen).note:
                ended, seen = await turn(client, session, "Please mend the harbour.")
        assert ended.reason == "done"
        assert "No intent was looked for: The packages could not be installed" in detected(seen).note


async def test_nothing_is_asked_unless_it_is_switched_on(tmp_path: Path) -> None:
    async with house(tmp_path, script({"text": "unasked"})) as h, await h.client() as client:
        _, seen = await turn(client, await new_session(h, client), "Please mend the harbour.")
        assert not any(isinstance(event, e.IntentDetected) for event in seen)
        assert len(h.sim.requests) == 1
