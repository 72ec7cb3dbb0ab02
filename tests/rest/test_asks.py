"""A program sees what waits for a person, hears of it, and answers by its id."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ..interaction.house import House, house
from .calling import Rest, events, rest, token_with

pytestmark = pytest.mark.anyio
ASKING = [
    {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "one"}}]},
    {"text": "done"},
]
QUESTION = [
    {"tool_calls": [{"name": "ask_user", "arguments": {"question": "Red or blue?", "choices": ["red", "blue"]}}]},
    {"text": "done"},
]


async def waiting(owner: Rest, path: str = "/api/asks") -> list[Any]:
    """As soon as something waits."""
    while not (found := (await owner("GET", path)).json()["asks"]):
        await asyncio.sleep(0.01)
    return found


async def begin(owner: Rest, **settings: Any) -> str:
    agent = await owner.agent(**settings)
    sent = await owner("POST", f"/api/agents/{agent}/message", {"text": "go"})
    assert sent.status_code == 202
    return agent


async def ended(owner: Rest, agent: str) -> None:
    while (await owner("GET", f"/api/agents/{agent}")).json()["status"] != "idle":
        await asyncio.sleep(0.01)


async def test_what_waits_is_listed_and_a_permission_given_by_its_id(tmp_path: Path) -> None:
    async with house(tmp_path, ASKING, web=True) as h, rest(h) as owner:
        assert (await owner("GET", "/api/asks")).json() == {"asks": [], "lapsed": []}
        agent = await begin(owner, mode="ask")
        (ask,) = await waiting(owner)
        assert (ask["session"], ask["cwd"], ask["question"]) == (agent, str(h.workspace), None)
        assert ask["permission"]["risk"] in ("low", "medium", "high")
        assert ask["permission"]["tool"] == "write_file"
        assert ask["at"] > 0
        assert (await owner("GET", f"/api/agents/{agent}/asks")).json() == {"asks": [ask], "lapsed": []}
        other = await owner.agent()
        assert (await owner("GET", f"/api/agents/{other}/asks")).json() == {"asks": [], "lapsed": []}
        place = f"/api/asks/{ask['id']}"
        assert (await owner("POST", place, {"answer": "yes"})).status_code == 422
        assert (await owner("POST", place, {})).status_code == 422
        assert (await owner("POST", "/api/asks/none", {"decision": "allow"})).status_code == 404
        assert not (h.workspace / "a.txt").exists()
        assert (await owner("POST", place, {"decision": "allow"})).status_code == 204
        await ended(owner, agent)
        assert (h.workspace / "a.txt").read_text() == "one"
        assert (await owner("POST", place, {"decision": "allow"})).status_code == 404
        assert (await owner("GET", "/api/asks")).json() == {"asks": [], "lapsed": []}


async def test_a_question_is_answered_in_words(tmp_path: Path) -> None:
    async with house(tmp_path, QUESTION, web=True) as h, rest(h) as owner:
        agent = await begin(owner)
        (ask,) = await waiting(owner)
        assert (ask["permission"], ask["question"]["choices"]) == (None, ["red", "blue"])
        place = f"/api/asks/{ask['id']}"
        assert (await owner("POST", place, {"decision": "allow"})).status_code == 422
        assert (await owner("POST", place, {"answer": "blue"})).status_code == 204
        await ended(owner, agent)
        said = (await owner("GET", f"/api/agents/{agent}/messages")).json()["items"]
        assert any("blue" in part.get("text", "") for message in said for part in message["parts"])


async def test_who_may_only_read_sees_and_does_not_answer_and_elsewhere_nothing_is_seen(tmp_path: Path) -> None:
    async with house(tmp_path, ASKING, web=True) as h, rest(h) as owner:
        await begin(owner, mode="ask")
        (ask,) = await waiting(owner)
        async with rest(h, await token_with(h, "read")) as reader:
            assert [each["id"] for each in (await reader("GET", "/api/asks")).json()["asks"]] == [ask["id"]]
            assert (await reader("POST", f"/api/asks/{ask['id']}", {"decision": "allow"})).status_code == 403
        async with rest(h, await elsewhere(h)) as stranger:
            assert (await stranger("GET", "/api/asks")).json() == {"asks": [], "lapsed": []}
            assert (await stranger("POST", f"/api/asks/{ask['id']}", {"decision": "allow"})).status_code == 404
        assert not (h.workspace / "a.txt").exists()


async def elsewhere(h: House) -> str:
    other = h.workspace.parent / "other"
    other.mkdir()
    async with rest(h) as owner:
        made = await owner(
            "POST", "/api/tokens", {"name": "other", "scopes": ["read", "chat", "approve"], "roots": [str(other)]}
        )
        return made.json()["secret"]


async def test_the_stream_begins_with_what_waits_and_tells_the_rest_as_it_comes_in_full(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": ASKING}, web=True) as h, rest(h) as owner:
        await begin(owner, mode="ask")
        (first,) = await waiting(owner)
        async with owner.client.stream("GET", "/api/asks", headers={"Accept": "text/event-stream"}) as response:
            heard = events(response)
            kind, told = await anext(heard)
            assert (kind, told["asks"]) == ("asks", [first])
            await owner("POST", f"/api/asks/{first['id']}", {"decision": "deny"})
            kind, told = await anext(heard)
            assert (kind, told["ask_id"], told["decision"]) == ("permission.resolved", first["id"], "deny")
            second = await begin(owner, mode="ask")
            kind, told = await anext(heard)
            assert (kind, told["session"], told["ask"]["risk"]) == (
                "permission.requested", second, first["permission"]["risk"],
            )  # fmt: skip
            assert set(told["ask"]) == set(first["permission"])
