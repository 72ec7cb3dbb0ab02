"""The reading ops over GraphQL, against a whole daemon."""

import sys
from pathlib import Path
from typing import Any

import pytest
from graphql import build_client_schema, get_introspection_query

from openagent.protocol.tokens import TokensCreate

from ..interaction.house import House, house
from .calling import Rest, rest, token_with

pytestmark = pytest.mark.anyio
SESSIONS = "{ sessions { items { id name messages { items { role parts { ... on TextPart { text } } } } } next } }"


async def ask(caller: Rest, query: str, status: int = 200, **variables: Any) -> dict[str, Any]:
    answer = await caller("POST", "/graphql", {"query": query, "variables": variables})
    assert answer.status_code == status, answer.text
    return answer.json()


async def said(caller: Rest, text: str) -> str:
    """A session in which this was said and answered."""
    agent = await caller.agent()
    answer = await caller("POST", f"/api/agents/{agent}/message", {"text": text}, Accept="text/event-stream")
    assert answer.status_code == 200
    return agent


async def elsewhere(h: House, folder: Path) -> str:
    folder.mkdir()
    async with await h.client() as owner:
        op = TokensCreate(id=owner.next_id(), name="elsewhere", scopes=["read"], roots=[str(folder)])
        return (await owner.request(op)).secret


async def test_sessions_messages_usage_and_tasks_are_read_in_one_query(tmp_path: Path) -> None:
    script = [{"text": "forty-two", "usage": {"input": 7, "output": 3}}, {"text": "forty-three"}]
    async with house(tmp_path, script, web=True) as h, rest(h) as owner:
        first = await said(owner, "how many?")
        second = await said(owner, "and now?")
        await owner("POST", "/api/tasks", {"title": "count", "cwd": str(h.workspace)})
        got = await ask(
            owner,
            """query ($first: String!) {
                 sessions(limit: 1) { items { id } next }
                 session(id: $first) {
                   name status settings { model } parent_session { id } usage { requests }
                   messages { items { role turn parts { ... on TextPart { text } } } turns { turn reason } next }
                   asks { asks { id } } queue { queued { id } }
                 }
                 newest: messages(id: $first, limit: 1) { items { number role } next }
                 tasks { tasks { title state log { entries { text } } } }
                 usage(by: session) { rows { key requests usage { input_tokens } } }
                 templates { templates { template { name } source } }
                 models { models { name } }
                 providers { entries { name kind } }
                 status { version sessions }
               }""",
            first=first,
        )
        assert "errors" not in got, got["errors"]
        data = got["data"]
        session = data["session"]
        assert [(each["role"], each["parts"]) for each in session["messages"]["items"]] == [
            ("user", [{"text": "how many?"}]),
            ("assistant", [{"text": "forty-two"}]),
        ]
        assert session["messages"]["turns"] == [{"turn": 1, "reason": "done"}]
        assert (session["status"], session["parent_session"], session["usage"]["requests"]) == ("idle", None, 1)
        assert [each["id"] for each in data["sessions"]["items"]] == [second]
        rest_of = await ask(
            owner, "query ($c: String) { sessions(cursor: $c) { items { id } next } }", c=data["sessions"]["next"]
        )
        assert rest_of["data"]["sessions"] == {"items": [{"id": first}], "next": None}
        assert data["newest"]["items"] == [{"number": 2, "role": "assistant"}]
        assert data["newest"]["next"]
        searching = '{ search(query: "how many") { found { session number } unread } }'
        while (read := (await ask(owner, searching))["data"]["search"])["unread"]:
            """What was said a moment ago is being read."""
        assert read["found"] == [{"session": first, "number": 1}]
        assert [(each["title"], each["state"]) for each in data["tasks"]["tasks"]] == [("count", "todo")]
        assert {row["key"] for row in data["usage"]["rows"]} == {first, second}
        assert data["status"]["sessions"] == 2
        assert data["templates"]["templates"]


async def test_a_query_that_asks_for_too_much_is_refused_in_a_sentence_before_anything_is_done(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        nested = "{ id }"
        for _ in range(19):
            nested = f"{{ parent_session {nested} }}"
        aliases = " ".join(f"a{number}: status {{ pid }}" for number in range(201))
        twice = "fragment %s on SessionInfo { one: parent_session { ...%s } two: parent_session { ...%s } }"
        doubling = [twice % (name, below, below) for name, below in zip("abcdefgh", "bcdefghi", strict=True)]
        laughing = " ".join(
            ['{ session(id: "x") { ...a } }', *doubling, "fragment i on SessionInfo { id }"],
        )
        refused = {
            f'{{ session(id: "x") {nested} }}': "nested 21 levels deep, and 15 are the most",
            "{ sessions(limit: 100) { items { messages { next } context { model } } } }": "could take 201 requests",
            f"{{ {aliases} }}": "could take 201 requests",
            laughing: "could take 511 requests",
            "{ sessions(limit: 100000) { items { id name } } }": "could have",
            "{ nothing }": "Cannot query field 'nothing'",
            "mutation { x }": "Nothing can be changed",
            "{": "Syntax Error",
            "{ " + "status { pid } " * 2000 + "}": "more than 4000 tokens",
            "fragment a on SessionInfo { ...a } { sessions { items { ...a } } }": "within itself",
        }  # fmt: skip
        for query, sentence in refused.items():
            answer = await ask(owner, query, 400)
            assert "data" not in answer
            assert sentence in answer["errors"][0]["message"], answer
        described = await ask(owner, get_introspection_query())
        assert build_client_schema(described["data"]).query_type


async def test_a_token_reads_what_its_scopes_and_folders_allow_and_nothing_of_others(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "secret"}], web=True) as h:
        async with rest(h) as owner:
            agent = await said(owner, "a secret of this folder")
            await owner("POST", "/api/tasks", {"title": "count", "cwd": str(h.workspace)})
        everything = f"""{{
          sessions {{ items {{ id }} }} session(id: "{agent}") {{ id }} messages(id: "{agent}") {{ next }}
          search(query: "secret") {{ found {{ excerpt }} }} tasks {{ tasks {{ title }} }}
          agents {{ agents {{ session {{ id }} }} }} usage {{ rows {{ key }} }} providers {{ entries {{ name }} }}
        }}"""
        async with rest(h, await elsewhere(h, tmp_path / "other")) as stranger:
            answer = await ask(stranger, everything)
            assert answer["data"] == {
                "sessions": {"items": []},
                "session": None,
                "messages": None,
                "search": {"found": []},
                "tasks": {"tasks": []},
                "agents": {"agents": []},
                "usage": None,
                "providers": None,
            }
            codes = {each["path"][0]: each["extensions"]["code"] for each in answer["errors"]}
            assert codes.pop("providers") == "permission_denied"
            assert set(codes) == {"session", "messages", "usage"}
            assert "secret" not in str(answer)
        async with rest(h, await token_with(h, "read")) as reader:
            assert [each["id"] for each in (await ask(reader, SESSIONS))["data"]["sessions"]["items"]] == [agent]
        async with rest(h, "") as nobody:
            assert (await nobody("POST", "/graphql", {"query": SESSIONS})).status_code == 401
            assert (await nobody("GET", "/graphql")).status_code == 401
        async with rest(h) as owner:
            assert "type SessionInfo" in (await owner("GET", "/graphql")).text


async def test_without_the_extra_a_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "graphql", None)
            answer = await owner("POST", "/graphql", {"query": SESSIONS})
            assert answer.status_code == 501
            assert answer.json()["detail"] == "GraphQL is not installed here."
            assert "openagent extras get graphql" in answer.json()["hint"]
        assert (await ask(owner, SESSIONS))["data"] == {"sessions": {"items": [], "next": None}}
