"""The API as its document tells it: no defect, no status it does not name; once is once, and no change is lost."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from openagent.gateway.rest.app import OPENAPI
from openagent.gateway.rest.endpoint import endpoints
from openagent.protocol.events import TurnCompleted
from openagent.protocol.messages import Message
from openagent.protocol.sessions import SessionInfo, Settings
from openagent.protocol.usage import Usage

from ..interaction.house import house, until
from .calling import events, rest

pytestmark = pytest.mark.anyio
SEED = """
POST /api/agents
GET /api/agents
GET /api/agents/{id}
DELETE /api/agents/{id}
POST /api/agents/{id}/message
POST /api/agents/{id}/approve-tool
GET /api/mcp/servers
POST /api/mcp/servers
GET /api/mcp/servers/{name}
POST /api/mcp/servers/{name}/test
DELETE /api/mcp/servers/{name}
GET /api/config/agent-templates
POST /api/config/agent-templates
GET /api/config/system-prompts
POST /api/config/system-prompts
GET /api/metrics/agents
GET /api/metrics/openai-usage
GET /api/metrics/mcp-health
GET /api/metrics/cost-analysis
GET /api/workspaces
POST /api/workspaces
GET /api/workspaces/{id}/files
POST /api/workspaces/{id}/backup
GET /api/v1/tui/connect
"""


async def test_the_document_is_openapi_3_1_and_has_every_promised_address(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        document = (await owner("GET", OPENAPI)).json()
        assert document["openapi"].startswith("3.1")
        there = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
        assert set(SEED.split("\n")) - {""} - there == set()
        assert len(there) == len(endpoints()) + 34
        referenced = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
        assert referenced <= set(document["components"]["schemas"])


async def test_the_document_says_what_every_field_and_parameter_means(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        document = (await owner("GET", OPENAPI)).json()
    schemas: dict[str, Any] = document["components"]["schemas"]
    of_fields = {
        f"{name}.{field}": schema.get("description")
        for name, kind in schemas.items()
        for field, schema in kind.get("properties", {}).items()
    }
    of_parameters = {
        f"{method} {path} {parameter['name']}": parameter["description"]
        for path, item in document["paths"].items()
        for method, operation in item.items()
        for parameter in operation["parameters"]
    }
    assert len(of_fields) > 1000
    assert len(of_parameters) > 100
    assert [name for name, said in (of_fields | of_parameters).items() if not said] == [], "a docstring below each"
    assert [name for name, kind in schemas.items() if "properties" in kind and not kind.get("description")] == []


async def test_a_repeated_request_with_its_key_is_carried_out_once(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        body = {"cwd": str(h.workspace), "name": "one"}
        first = await owner("POST", "/api/agents", body, Idempotency_Key="k")
        again = await owner("POST", "/api/agents", body, Idempotency_Key="k")
        assert (again.status_code, again.json()) == (201, first.json())
        assert again.headers["idempotent-replayed"] == "true"
        other = await owner("POST", "/api/agents", {**body, "name": "two"}, Idempotency_Key="k")
        assert (other.status_code, other.json()["code"]) == (422, "key_reused")
        elsewhere = await owner("POST", f"/api/agents/{first.json()['id']}/fork", {}, Idempotency_Key="k")
        assert elsewhere.status_code == 422
        both = [owner("POST", "/api/agents", body, Idempotency_Key="same time") for _ in range(2)]
        statuses = sorted([answer.status_code for answer in await asyncio.gather(*both)])
        assert statuses in ([201, 201], [201, 409])
        assert len((await owner("GET", "/api/agents")).json()["items"]) == 2
        refused = await owner("POST", "/api/agents", {"cwd": "nowhere"}, Idempotency_Key="failed")
        assert refused.status_code == 422
        assert (await owner("POST", "/api/agents", body, Idempotency_Key="failed")).status_code == 201


async def test_settings_change_only_from_the_version_that_was_read(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        place = f"/api/agents/{await owner.agent()}/settings"
        read = await owner("GET", place)
        tag = read.headers["etag"]
        assert (await owner("GET", place, If_None_Match=tag)).status_code == 304
        assert (await owner("PATCH", place, {"mode": "plan"})).status_code == 428
        both = [owner("PATCH", place, {"max_steps": n}, If_Match=tag) for n in (5, 6)]
        assert sorted([answer.status_code for answer in await asyncio.gather(*both)]) == [200, 412]
        changed = await owner("GET", place)
        assert changed.headers["etag"] != tag
        assert changed.json()["max_steps"] in (5, 6)
        assert (await owner("PATCH", place, {"mode": "plan"}, If_Match=tag)).status_code == 412
        last = await owner("PATCH", place, {"mode": "plan"}, If_Match=changed.headers["etag"])
        assert (last.status_code, last.json()["mode"]) == (200, "plan")
        assert (await owner("PATCH", place, {"mood": "good"}, If_Match="*")).status_code == 422


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4), count=st.integers(0, 9))
def test_walking_by_cursor_meets_everything_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], count: int
) -> None:
    async def scenario() -> None:
        path = tmp_path_factory.mktemp("cursor")
        async with house(path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
            made = [await owner.agent() for _ in range(count)]
            seen: list[str] = []
            cursor, turn = None, 0
            while True:
                query = {"limit": sizes[turn % len(sizes)], **({"cursor": cursor} if cursor else {})}
                page = (await owner("GET", "/api/agents", query=query)).json()
                seen += [item["id"] for item in page["items"]]
                cursor, turn = page["next"], turn + 1
                if cursor is None:
                    break
            assert sorted(seen) == sorted(made)
            assert len(seen) == count
            for wrong in ("x", "e30", "bnVsbA", "eyJiZWZvcmUiOiJ4In0"):
                assert (await owner("GET", "/api/agents", query={"cursor": wrong})).status_code == 422

    asyncio.run(scenario())


async def test_a_turn_is_heard_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hello you"}]}, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        stream = owner.client.stream(
            "POST", f"/api/agents/{agent}/message", json={"text": "hi"}, headers={"Accept": "text/event-stream"}
        )
        async with stream as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            heard = [event async for event in events(response)]
        kinds = [kind for kind, _ in heard]
        assert kinds[0] == "turn.started"
        assert kinds[-1] == "turn.completed"
        assert "".join(data["text"] for kind, data in heard if kind == "text.delta") == "hello you"
        seq = heard[0][1]["seq"]
        async with owner.client.stream(
            "GET", f"/api/agents/{agent}/events", headers={"Last-Event-ID": str(seq)}
        ) as response:
            again: list[str] = []
            async for kind, _ in events(response):
                again.append(kind)
                if kind == "turn.completed":
                    break
        assert again[0] == "reply"
        live_only = ("text.delta", "context.shown")
        assert again[1:] == [kind for kind in kinds[1:] if kind not in live_only]
        page = (await owner("GET", f"/api/agents/{agent}/messages")).json()
        assert [(end["turn"], end["reason"]) for end in page["turns"]] == [(1, "done")]
        assert [message["role"] for message in page["items"]] == ["user", "assistant"]


async def test_a_client_that_leaves_its_stream_stops_nothing(tmp_path: Path) -> None:
    script = [{"text": "slowly and to the end", "latency_ms": 300, "chunk_chars": 2}]
    async with house(tmp_path, script, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        async with owner.client.stream(
            "POST", f"/api/agents/{agent}/message", json={"text": "hi"}, headers={"Accept": "text/event-stream"}
        ) as response:
            async for kind, _ in events(response):
                assert kind == "turn.started"
                break
        async with await h.client() as client:
            attachment = await client.attach(agent, after=0)
            await until(attachment, lambda event: isinstance(event, TurnCompleted) and event.reason == "done")
        while h.daemon.bus.attached(agent):
            await asyncio.sleep(0.01)


async def test_a_client_that_reads_nothing_is_cut_off_and_slows_nobody(tmp_path: Path) -> None:
    steps = [{"text": "x" * 1_500_000, "chunk_chars": 50_000}]
    async with house(tmp_path, {"loop": True, "steps": steps}, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        host, _, port = h.daemon.place.web_url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        token = (h.home / "token").read_text()
        writer.write(
            f"GET /api/agents/{agent}/events HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {token}\r\n\r\n".encode()
        )
        async with await h.client() as client:
            attachment = await client.attach(agent)
            while h.daemon.bus.attached(agent) < 2:
                await asyncio.sleep(0.01)
            for _ in range(20):
                await client.send(agent, "more")
                await attachment.until_turn_ends()
                if h.daemon.bus.attached(agent) == 1:
                    break
            assert h.daemon.bus.attached(agent) == 1
        writer.transport.abort()


async def test_too_much_and_what_is_no_json_get_a_problem(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        large = await owner.client.post(
            "/api/agents", content=b"x" * (33 * 1024 * 1024), headers={"Content-Type": "application/json"}
        )
        assert (large.status_code, large.json()["code"]) == (413, "too_large")
        plain = await owner.client.post("/api/agents", content=b"x", headers={"Content-Type": "text/plain"})
        assert plain.status_code == 415
        broken = await owner.client.post("/api/agents", content=b"{", headers={"Content-Type": "application/json"})
        assert broken.status_code == 400
        wrong = await owner("PUT", "/api/agents")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, POST")
        for answer in (large, plain, broken, wrong, await owner("GET", "/api/nothing")):
            assert answer.headers["content-type"] == "application/problem+json"
            assert {"type", "title", "status", "detail", "code"} <= set(answer.json())


async def test_files_commands_and_figures_over_rest(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hi"}]}, web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        place = f"/api/agents/{agent}/files/content"
        assert (await owner("PUT", place, {"path": "a.txt", "text": "one"})).status_code == 200
        assert (await owner("GET", place, query={"path": "a.txt"})).json()["text"] == "one"
        listed = await owner("GET", f"/api/agents/{agent}/files")
        assert [entry["name"] for entry in listed.json()["entries"]] == ["a.txt"]
        assert (await owner("GET", f"/api/agents/{agent}/diff")).status_code == 200
        measured = (await owner("GET", "/api/metrics/agents")).json()["agents"]
        assert [each["id"] for each in measured] == [agent]
        assert (await owner("GET", "/api/metrics/cost-analysis")).json()["days"] == 30
        assert (await owner("GET", "/api/search", query={"query": "nothing"})).json()["found"] == []


async def test_the_secret_of_a_token_is_told_once_and_not_kept_for_repetitions(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        body = {"name": "ci", "scopes": ["read"]}
        first = await owner("POST", "/api/tokens", body, Idempotency_Key="k")
        assert first.status_code == 201
        again = await owner("POST", "/api/tokens", body, Idempotency_Key="k")
        assert (again.status_code, again.headers["idempotent-replayed"]) == (409, "true")
        assert "told once" in again.json()["detail"]
        assert [each["name"] for each in (await owner("GET", "/api/tokens")).json()["tokens"]] == ["ci"]
        secret = first.json()["secret"].encode()
        assert not [file for file in h.home.rglob("*") if file.is_file() and secret in file.read_bytes()]


async def test_an_answer_leaves_out_nothing_that_is_as_it_is_by_default(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        await owner("POST", f"/api/agents/{agent}/message", {"text": "hi"}, Accept="text/event-stream")
        info = (await owner("GET", f"/api/agents/{agent}")).json()
        assert set(info) == names_of(SessionInfo)
        assert (info["status"], info["queued"], info["parent"]) == ("idle", 0, None)
        assert set(info["settings"]) == names_of(Settings)
        assert set(info["usage"]["tokens"]) == names_of(Usage)
        (listed,) = (await owner("GET", "/api/agents")).json()["items"]
        assert listed == info
        said = (await owner("GET", f"/api/agents/{agent}/messages")).json()
        assert set(said) == {"items", "turns", "rewound", "next"}
        assert all(set(message) == names_of(Message) for message in said["items"])
        assert said["items"][0]["parts"] == [{"type": "text", "text": "hi"}]


def names_of(kind: type[Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}
