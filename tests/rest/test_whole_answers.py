"""What programs want to take away or to be told: downloads, flows by name, what was taken back, what failed, caps."""

import asyncio
import io
import json
import tarfile
from pathlib import Path

import pytest

from ..interaction.house import house
from .calling import Rest, rest, token_with

pytestmark = pytest.mark.anyio
FLOW = """
name = "tidy"
[[step]]
name = "one"
template = "coder"
task = "Do the one step."
"""


async def said(owner: Rest, agent: str, text: str) -> None:
    """A whole turn."""
    await owner("POST", f"/api/agents/{agent}/message", {"text": text}, Accept="text/event-stream")


async def test_a_conversation_and_a_workspace_are_downloaded(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hello"}]}, web=True) as h, rest(h) as owner:
        (h.workspace / "a.txt").write_text("one")
        agent = await owner.agent()
        await said(owner, agent, "hi")
        exported = await owner("GET", f"/api/agents/{agent}/export")
        assert exported.headers["content-type"] == "application/jsonl"
        assert exported.headers["content-disposition"].startswith("attachment; filename=")
        head, *messages = [json.loads(line) for line in exported.text.splitlines()]
        assert head["session"]["id"] == agent
        assert [each["message"]["role"] for each in messages] == ["user", "assistant"]
        archive = await owner("GET", f"/api/agents/{agent}/backup")
        assert (archive.status_code, archive.headers["content-type"]) == (200, "application/gzip")
        with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
            assert any(name.endswith("a.txt") for name in tar.getnames())
        made = await owner("POST", "/api/workspaces", {"cwd": str(h.workspace), "name": "spare"})
        copy = await owner("GET", f"/api/workspaces/{made.json()['id']}/backup")
        assert (copy.status_code, copy.content[:2]) == (200, b"\x1f\x8b")
        assert (await owner("GET", "/api/workspaces/none/backup")).status_code == 404
        async with rest(h, await token_with(h, "read", "chat")) as reader:
            assert (await reader("GET", f"/api/agents/{agent}/backup")).status_code == 403
            assert (await reader("GET", f"/api/agents/{agent}/export")).status_code == 200


async def test_a_flow_runs_by_its_name(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "done"}]}, web=True) as h, rest(h) as owner:
        folder = h.workspace / ".openagent" / "flows"
        folder.mkdir(parents=True)
        (folder / "clean.toml").write_text(FLOW)
        (folder / "broken.toml").write_text("steps = nonsense")
        place, body = "/api/flows", {"cwd": str(h.workspace), "mode": "full", "model": "compatible/scripted"}
        for name in ("clean", "tidy"):
            started = await owner("POST", place, {**body, "name": name})
            assert (started.status_code, started.json()["name"]) == (202, "tidy"), started.text
            while (report := (await owner("GET", f"/api/flows/{started.json()['session']}")).json())[
                "state"
            ] == "running":
                await asyncio.sleep(0.02)
            assert report["state"] == "done", report
        unknown = await owner("POST", place, {**body, "name": "other"})
        assert (unknown.status_code, "clean" in unknown.json()["hint"]) == (404, True)
        assert (await owner("POST", place, body)).status_code == 422
        assert (await owner("POST", place, {**body, "name": "clean", "text": FLOW})).status_code == 422
        assert (await owner("POST", place, {**body, "name": "broken"})).status_code == 422


async def test_messages_that_a_rewind_took_back_are_marked(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hello"}]}, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        for text in ("one", "two"):
            await said(owner, agent, text)
        back = await owner("POST", f"/api/agents/{agent}/undo", {"turn": 2, "conversation": True})
        assert back.status_code == 200, back.text
        await said(owner, agent, "three")
        page = (await owner("GET", f"/api/agents/{agent}/messages")).json()
        assert [each["rewound"] for each in page["items"]] == [False, False, True, True, False, False]


async def test_a_failed_turn_counts_as_an_error_of_its_agent(tmp_path: Path) -> None:
    steps = [{"text": "fine"}, {"fault": "unauthorized"}]
    async with house(tmp_path, steps, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        await said(owner, agent, "one")
        (measured,) = (await owner("GET", "/api/metrics/agents")).json()["agents"]
        assert (measured["error_rate"], measured["failed_turns"]) == (0.0, 0)
        await said(owner, agent, "two")
        (measured,) = (await owner("GET", "/api/metrics/agents")).json()["agents"]
        assert (measured["error_rate"], measured["failed_turns"]) == (0.5, 1)


async def test_an_agent_tells_the_caps_that_hold(tmp_path: Path) -> None:
    config = "[budget]\nsession_usd = 2.5\nsession_tokens = 9000\n"
    async with house(tmp_path, [], config=config, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        info = (await owner("GET", f"/api/agents/{agent}")).json()
        assert (info["cap_usd"], info["cap_tokens"]) == (2.5, 9000)
        await owner("PATCH", f"/api/agents/{agent}/settings", {"budget_tokens": 100}, If_Match="*")
        info = (await owner("GET", f"/api/agents/{agent}")).json()
        assert (info["cap_usd"], info["cap_tokens"]) == (2.5, 100)
        (listed,) = (await owner("GET", "/api/agents")).json()["items"]
        assert listed["cap_tokens"] == 100
