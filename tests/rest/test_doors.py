"""Who comes in, and who does not: tokens, scopes, hosts, origins, browsers."""

import asyncio
import gzip
import json
import re
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from openagent.access.tokens import Access
from openagent.gateway.request_guard import LOGIN, WAYS_IN
from openagent.gateway.rest.app import OPENAPI, web_app
from openagent.gateway.static import StaticFiles
from openagent.plugins.access import AccessStore, PeopleStore
from openagent.protocol import events as e
from openagent.protocol.codec import KNOWN_OPS, decode_event
from openagent.protocol.daemon import DaemonStop
from openagent.protocol.ops import ALL_OPS
from openagent.protocol.safety import AuditAsk
from openagent.protocol.tokens import TokensRevoke, WebLogin
from openagent.protocol.version import PROTOCOL_VERSION

from ..interaction.house import House, house
from .calling import rest, token_with

pytestmark = pytest.mark.anyio
HELLO = json.dumps({"op": "hello", "id": "h", "protocol": PROTOCOL_VERSION, "interactive": True})


async def nowhere() -> tuple[str, str]:
    return "", ""


async def nobody_logs_in() -> None:
    return None


def routes(h: House) -> list[Route | WebSocketRoute]:
    """Of the app itself, as it is served."""
    access = Access(
        h.home,
        cast("AccessStore", None),
        cast("PeopleStore", None),
        open_web=nowhere,
        close_web=nobody_logs_in,
        dismiss=lambda _: None,
        problem=lambda _: "",
        signing_in=nobody_logs_in,
    )
    guard = web_app(h.daemon, access, ("127.0.0.1", 1))
    served = cast("Starlette", guard.app)
    return [route for route in served.routes if isinstance(route, Route | WebSocketRoute)]


async def test_every_route_of_the_api_and_the_websocket_answers_401_without_a_token(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h:
        asked = 0
        async with rest(h, "") as nobody, rest(h, "oa_x_wrong") as stranger:
            for route in routes(h):
                path = re.sub(r"\{[^}]+\}", "x", route.path)
                if isinstance(route, WebSocketRoute):
                    with pytest.raises(InvalidStatus) as refused:
                        await ws_connect(h.daemon.place.web_url.replace("http", "ws") + path)
                    assert refused.value.response.status_code == 401
                    asked += 1
                elif path.startswith("/api") and path not in WAYS_IN - {LOGIN}:
                    for method in route.methods or ():
                        body = {"code": "wrong"} if path == LOGIN else None
                        answers = [await nobody(method, path, body), await stranger(method, path, body)]
                        refusals = [answer.status_code for answer in answers]
                        assert refusals in ([401, 401], [401, 429], [429, 429]), (method, path)
                        if method != "HEAD":
                            assert answers[0].headers["content-type"] == "application/problem+json"
                            assert answers[0].json()["code"] in ("unauthorized", "rate_limited")
                        asked += 1
            assert asked > 90
            assert (await nobody("GET", "/api/there-is-no-such-thing")).status_code == 401


async def test_a_scope_allows_its_ops_and_no_others(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h:
        async with rest(h) as owner:
            agent = await owner.agent(mode="ask")
        async with rest(h, await token_with(h, "read")) as reader:
            assert (await reader("GET", f"/api/agents/{agent}")).status_code == 200
            refused = await reader("POST", f"/api/agents/{agent}/message", {"text": "hi"})
            assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
            streamed = await reader("POST", f"/api/agents/{agent}/message", {"text": "hi"}, Accept="text/event-stream")
            assert streamed.status_code == 403
            assert (await reader("GET", "/api/audit")).status_code == 403
        async with rest(h, await token_with(h, "chat")) as chat:
            assert (await chat("POST", f"/api/agents/{agent}/message", {"text": "hi"})).status_code == 202
            answer = {"ask": "x", "decision": "allow"}
            assert (await chat("POST", f"/api/agents/{agent}/approve-tool", answer)).status_code == 403
            assert (await chat("GET", "/api/tokens")).status_code == 403
            change = await chat("PATCH", f"/api/agents/{agent}/settings", {"mode": "full"}, If_Match="*")
            assert change.status_code == 403
            made = await chat("POST", "/api/agents", {"cwd": str(h.workspace), "settings": {"mode": "full"}})
            assert made.status_code == 403
        async with rest(h, await token_with(h, "approve")) as approver:
            answer = {"ask": "x", "decision": "allow"}
            assert (await approver("POST", f"/api/agents/{agent}/approve-tool", answer)).status_code == 409
            assert (await approver("POST", f"/api/agents/{agent}/message", {"text": "hi"})).status_code == 403


@pytest.mark.parametrize("scope", ["read", "chat", "approve"])
async def test_the_websocket_refuses_every_op_beyond_the_tokens_scope(tmp_path: Path, scope: str) -> None:
    own = {"read": {"read"}, "chat": {"read", "chat"}, "approve": {"read", "approve"}}[scope]
    beyond = [op for op in ALL_OPS if op.needs[0] not in own]
    assert len(beyond) > 25
    async with house(tmp_path, [{"text": "hi"}], web=True) as h:
        token = await token_with(h, scope)  # type: ignore[arg-type]
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        async with ws_connect(url, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
            await socket.send(HELLO)
            assert isinstance(decode_event(await socket.recv()), e.Reply)
            for op in beyond:
                tag = op.tag
                assert tag in KNOWN_OPS
                await socket.send(json.dumps({"op": tag, "id": tag, **_least(op)}))
                failed = decode_event(await asyncio.wait_for(socket.recv(), 10))
                assert isinstance(failed, e.Failed), tag
                assert failed.error.code == "permission_denied", (tag, failed.error)


def _least(op: type) -> dict[str, object]:
    """The fields an op cannot do without."""
    import msgspec

    samples: dict[object, object] = {str: "x", int: 1, float: 1.0, bool: True}
    return {
        field.encode_name: samples.get(field.type, _special(field.name))
        for field in msgspec.structs.fields(op)
        if field.required and field.name != "id"
    }


def _special(name: str) -> object:
    return {
        "decision": "allow",
        "scopes": ["read"],
        "messages": [],
        "server": {},
        "template": {"name": "x"},
        "columns": 1,
        "rows": 1,
    }.get(name, {})


async def test_a_wrong_host_or_origin_is_refused_whatever_the_token(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], config='[web]\nhosts = ["agents.example"]\n', web=True) as h:
        own = h.daemon.place.web_url
        port = own.rpartition(":")[2]
        async with rest(h) as owner:
            for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "[::"):
                assert (await owner("GET", "/api/me", Host=host)).status_code == 421, host
            for host in (f"localhost:{port}", "localhost:9", f"[::1]:{port}", "agents.example"):
                assert (await owner("GET", "/api/me", Host=host)).status_code == 200, host
            for origin in ("https://evil.example", "http://127.0.0.1:1", "null", f"{own}.evil.example"):
                assert (await owner("GET", "/api/me", Origin=origin)).status_code == 403, origin
            assert (await owner("GET", "/api/me", Origin=own)).status_code == 200
            assert (await owner("GET", "/api/me", Sec_Fetch_Site="cross-site")).status_code == 403
            assert (await owner("GET", "/api/me", Sec_Fetch_Site="same-site")).status_code == 403
        token = (h.home / "token").read_text()
        for headers in ({"Origin": "http://127.0.0.1:1"}, {"Origin": "https://evil.example"}):
            with pytest.raises(InvalidStatus) as refused:
                await ws_connect(
                    own.replace("http", "ws") + "/ws",
                    additional_headers={"Authorization": f"Bearer {token}", **headers},
                )
            assert refused.value.response.status_code == 403


async def test_a_browser_logs_in_once_with_the_code_and_out_again(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, await h.client() as owner:
        address = await owner.request(WebLogin(id=owner.next_id()))
        url, _, code = address.url.partition("#")
        assert url == f"{h.daemon.place.web_url}/login"
        own = h.daemon.place.web_url
        async with rest(h, "") as browser:
            assert (await browser("GET", "/login")).status_code == 200
            answer = await browser("POST", LOGIN, {"code": code}, Origin=own)
            assert answer.status_code == 200
            cookie = answer.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert (await browser("POST", LOGIN, {"code": code}, Origin=own)).status_code == 401
            assert (await browser("GET", "/api/me")).json()["scopes"] == ["admin", "approve", "chat", "read"]
            body = {"cwd": str(h.workspace)}
            assert (await browser("POST", "/api/agents", body)).status_code == 403
            assert (await browser("POST", "/api/agents", body, Origin="http://127.0.0.1:1")).status_code == 403
            assert (await browser("POST", "/api/agents", body, Origin=own)).status_code == 201
            kept = cookie.partition(";")[0]
            async with ws_connect(
                own.replace("http", "ws") + "/ws", additional_headers={"Cookie": kept, "Origin": own}
            ) as socket:
                await socket.send(HELLO)
                assert isinstance(decode_event(await socket.recv()), e.Reply)
                assert (await browser("POST", "/api/logout", Origin=own)).status_code == 204
                assert isinstance(decode_event(await asyncio.wait_for(socket.recv(), 10)), e.ConnectionClosing)
                with pytest.raises(ConnectionClosed):
                    await asyncio.wait_for(socket.recv(), 10)
            assert (await browser("GET", "/api/me", Cookie=kept)).status_code == 401
        trail = await owner.request(AuditAsk(id=owner.next_id(), kind="login"))
        assert [(row.subject, row.detail["actor"]) for row in trail.entries] == [
            ("logged out", "browser"),
            ("login refused", "nobody"),
            ("logged in", "browser"),
        ]
        assert all(row.detail["from"].startswith("127.0.0.1:") for row in trail.entries)
        assert code not in str(trail)


async def test_whoever_guesses_at_the_door_is_in_the_trail_and_does_not_fill_it(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, await h.client() as owner:
        async with rest(h, "") as stranger:
            for number in range(25):
                answer = await stranger("POST", LOGIN, {"code": f"guess {number}"}, Origin=h.daemon.place.web_url)
                assert answer.status_code in (401, 429)
        trail = await owner.request(AuditAsk(id=owner.next_id(), kind="login"))
        assert [row.subject for row in trail.entries] == ["login refused"] * 10
        assert all(row.detail["from"].startswith("127.0.0.1:") for row in trail.entries)
        assert "guess" not in str(trail)


async def test_a_revoked_token_is_cut_off_at_once_and_secrets_are_kept_as_hashes(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, await h.client() as owner:
        token = await token_with(h, "read", name="ci")
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        async with ws_connect(url, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
            await socket.send(HELLO)
            await socket.recv()
            await owner.request(TokensRevoke(id=owner.next_id(), token="ci"))
            closing = decode_event(await asyncio.wait_for(socket.recv(), 10))
            assert isinstance(closing, e.ConnectionClosing)
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(socket.recv(), 10)
        async with rest(h, token) as revoked:
            assert (await revoked("GET", "/api/me")).status_code == 401
        other = await token_with(h, "read", name="other")
        for file in h.home.rglob("*"):
            if file.is_file():
                assert other.split("_", 2)[2].encode() not in file.read_bytes()


async def _said_to(h: House, request: bytes) -> bytes:
    """The first line of what is answered."""
    where = urlsplit(h.daemon.place.web_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(request)
    line = await reader.readline()
    writer.close()
    return line


async def test_probes_need_no_token_and_tell_when_it_lives_and_when_it_takes_somebody_in(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h, "") as probe, await h.client() as owner:
        assert [(await probe("GET", path)).text for path in ("/healthz", "/readyz")] == ["ok\n", "ready\n"]
        assert (await probe("GET", "/readyz", Host="evil.example")).status_code == 421
        assert b"200 OK" in await _said_to(h, b"GET /readyz HTTP/1.0\r\n\r\n"), "as HAProxy asks"
        assert b"421 " in await _said_to(h, b"GET / HTTP/1.0\r\n\r\n")
        await owner.request(DaemonStop(id=owner.next_id()))
        assert (await probe("GET", "/healthz")).status_code == 200
        stopping = await probe("GET", "/readyz")
        assert (stopping.status_code, stopping.json()["code"]) == (503, "not_ready")


async def test_answers_forbid_scripts_of_others_and_being_framed(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        for path in ("/", "/login", "/sessions/x", "/api/me", "/api/nothing", OPENAPI):
            headers = (await owner("GET", path)).headers
            policy = headers["content-security-policy"]
            scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
            assert scripts == "script-src 'self'"
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
        for page in ("/", "/login"):
            html = (await owner("GET", page)).text
            assert not re.search(r"<script(?![^>]*\bsrc=)", html)
            assert not re.search(r"\son\w+=", html)
        assert (await owner("GET", "/assets/none.js")).status_code == 404
        assert (await owner("GET", "/..%2f..%2fetc/passwd.txt")).status_code == 404


async def test_a_file_that_lies_there_packed_alone_is_served_to_whoever_cannot_unpack_it(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "app-1.js.gz").write_bytes(gzip.compress(b"let answer = 42"))
    files = StaticFiles(tmp_path)
    for accepted, encoding in (("gzip, deflate", "gzip"), ("br", None), ("", None)):
        headers = [(b"accept-encoding", accepted.encode()), (b"host", b"here")]
        scope = {"type": "http", "method": "GET", "path": "/assets/app-1.js", "headers": headers, "query_string": b""}
        response = await files.respond(Request(scope))
        assert response.status_code == 200
        assert response.headers.get("content-encoding") == encoding
        assert response.headers["content-type"].startswith("text/javascript")
        assert (gzip.decompress(bytes(response.body)) if encoding else bytes(response.body)) == b"let answer = 42"


READING_YET_GUARDED = {
    *("config.show", "auth.list", "trust.list", "audit.list", "tokens.list", "grants.list"),  # not for everybody to see
    *("backup.list", "backup.verify"),  # where all that was said lies
    "history.find",  # it looks into the person's home
    "models.test",  # it costs a token
    *("setup.show", "setup.look", "mcp.show"),  # what there is of keys
    *("people.list", "teams.list"),  # who works here
    "index.watch",  # it keeps the daemon at work
    *("mcp.resources", "mcp.resource.read", "mcp.prompts", "mcp.prompt.get"),  # they ask a server
    *("terminal.input", "terminal.resize"),  # the row of the terminal's opening stands for them
}


def test_an_op_leaves_no_row_in_the_audit_trail_only_if_it_is_known_to_change_nothing() -> None:
    silent = {op.tag for op in ALL_OPS if not op.changes} | {"session.join"}  # who was invited to read comes in
    assert silent == {op.tag for op in ALL_OPS if op.needs[0] == "read"} | READING_YET_GUARDED
    reading = {op for op in ALL_OPS for route in op.routes if route.method == "GET"}
    assert {op for op in reading if op.changes} == set()
