"""The HTTP server itself, its memory, its control plane, and the ways to run it."""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator, ThreadedSimulator

from .asking import USER, client, exchange, post

pytestmark = pytest.mark.anyio

CHAT = "/v1/chat/completions"
BODY: dict[str, Any] = {"model": "m", "messages": [USER]}
RAW_BODY = json.dumps(BODY).encode()


def raw_request(*headers: str, body: bytes = RAW_BODY, line: str = f"POST {CHAT} HTTP/1.1") -> bytes:
    head = "\r\n".join([line, "Host: here", *headers, f"Content-Length: {len(body)}"])
    return head.encode() + b"\r\n\r\n" + body


async def test_headers_are_kept_in_wire_order_and_case():
    async with Simulator() as sim:
        await exchange(sim, raw_request("x-API-key: K", "User-Agent:  me ", "Accept: */*", "accept: twice"))
        record = sim.requests[0]
    assert record.headers == [
        ("Host", "here"),
        ("x-API-key", "K"),
        ("User-Agent", "me"),
        ("Accept", "*/*"),
        ("accept", "twice"),
        ("Content-Length", str(len(RAW_BODY))),
    ]
    assert record.raw_head.startswith(f"POST {CHAT} HTTP/1.1\r\nHost: here\r\nx-API-key: K\r\nUser-Agent:  me \r\n")
    assert record.header("USER-agent") == "me"
    assert record.json() == BODY


async def test_a_connection_serves_many_requests_even_pipelined():
    async with Simulator([{"text": "hi", "latency_ms": 1}]) as sim:
        reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
        writer.write(raw_request() * 2 + raw_request("Connection: close"))
        answers = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert len(sim.requests) == 3


async def test_http_1_0_and_connection_close_end_the_connection():
    async with Simulator() as sim:
        for request in (raw_request(line=f"POST {CHAT} HTTP/1.0"), raw_request("Connection: close")):
            reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
            writer.write(request)
            assert b"You said: hi" in await reader.read()
            writer.close()
            await writer.wait_closed()


async def test_request_bodies_may_be_chunked_and_come_in_pieces():
    half = len(RAW_BODY) // 2
    chunks = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(part), part) for part in (RAW_BODY[:half], RAW_BODY[half:]))
    request = f"POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"
    async with Simulator() as sim:
        reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
        for byte in request:
            writer.write(bytes([byte]))
            await writer.drain()
        writer.write_eof()
        assert b"You said: hi" in await reader.read()
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/2\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nname : spaced\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\ncontent-length: ten\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxyz\r\n", b"400"),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000, b"431"),
    ],
)
async def test_malformed_http_is_refused(sent: bytes, status: bytes):
    async with Simulator() as sim:
        answer = await exchange(sim, sent)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert (await post(sim, CHAT, BODY)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"\xff", b'{"a":' + b"[" * 100_000],
    ids=["empty", "cut off", "array", "no UTF-8", "too deep"],
)
async def test_a_body_that_is_no_json_object_is_refused_in_the_vendors_shape(body: bytes):
    async with Simulator() as sim, client(sim) as http:
        assert (await http.post(CHAT, content=body)).json()["error"]["type"] == "invalid_request_error"
        assert (await http.post("/v1/messages", content=body)).json()["type"] == "error"
        gemini = await http.post("/v1beta/models/m:generateContent", content=body)
        assert gemini.json()["error"]["status"] == "INVALID_ARGUMENT"


async def test_unknown_places_answer_in_the_vendors_shape():
    async with Simulator() as sim, client(sim) as http:
        openai = await http.get("/v1/nowhere")
        anthropic = await http.get("/v1/nowhere", headers={"anthropic-version": "2023-06-01"})
        gemini = await http.get("/v1beta/nowhere")
        method = await http.get(CHAT)
        count = await http.post("/v1/responses/input_tokens", json={"model": "m", "input": "hi"})
        assert (await http.head("/")).status_code == 200
    assert openai.json()["error"]["message"] == "Invalid URL (GET /v1/nowhere)"
    assert anthropic.json()["error"]["type"] == "not_found_error"
    assert gemini.json()["error"]["status"] == "NOT_FOUND"
    assert method.status_code == 405
    assert count.json()["object"] == "response.input_tokens"


async def test_every_vendor_lists_its_models():
    async with Simulator({"models": ["one", "two"], "steps": [{"text": "hi"}]}) as sim, client(sim) as http:
        openai = (await http.get("/v1/models")).json()
        anthropic = (await http.get("/v1/models", headers={"anthropic-version": "x"})).json()
        gemini = (await http.get("/v1beta/models?key=k")).json()
        vertex = (await http.get("/v1beta1/publishers/google/models")).json()
        single = (await http.get("/v1/models/two")).json()
        unknown = await http.get("/v1/models/three")
    assert [model["id"] for model in openai["data"]] == ["one", "two"]
    assert (anthropic["first_id"], anthropic["last_id"], anthropic["has_more"]) == ("one", "two", False)
    assert [model["name"] for model in gemini["models"]] == ["models/one", "models/two"]
    assert [model["name"] for model in vertex["publisherModels"]] == [
        "publishers/google/models/one",
        "publishers/google/models/two",
    ]
    assert single["id"] == "two"
    assert unknown.status_code == 404


async def test_keys_are_accepted_wherever_vendors_put_them():
    async with Simulator(require_key="K") as sim, client(sim) as http:
        places: list[dict[str, str]] = [
            {"authorization": "Bearer K"},
            {"x-api-key": "K"},
            {"api-key": "K"},
            {"x-goog-api-key": "K"},
        ]
        assert [(await http.post(CHAT, json=BODY, headers=place)).status_code for place in places] == [200] * 4
        assert (await http.get("/v1beta/models?key=K")).status_code == 200
        assert (await http.get("/v1/models")).status_code == 401


async def test_a_client_that_leaves_early_is_noticed():
    async with Simulator([{"text": "abcdef", "chunk_chars": 1, "chunk_ms": 5000}]) as sim, client(sim) as http:
        async with http.stream("POST", CHAT, json={**BODY, "stream": True}) as answer:
            async for _ in answer.aiter_raw():
                break
        await sim.until(lambda: sim.requests[0].disconnected_at)
        record = sim.requests[0]
        assert record.finished_at is None
        assert (record.disconnected_at or 0) >= record.arrived_at


async def test_the_control_plane_shows_and_steers():
    async with Simulator([{"text": "one"}]) as sim, client(sim) as http:
        await http.post(CHAT, json=BODY)
        assert (await http.get("/_sim/health")).json() == {"ok": True, "requests": 1}
        seen = (await http.get("/_sim/requests")).json()["requests"][0]
        assert (seen["method"], seen["target"], seen["status"], seen["step"]) == ("POST", CHAT, 200, 0)
        assert ["content-type", "application/json"] in [[name.lower(), value] for name, value in seen["headers"]]
        assert json.loads(seen["body"]) == BODY
        assert seen["arrived_at"] <= seen["finished_at"]

        await http.post("/_sim/fail", json={"name": "429", "times": 2})
        statuses = [(await http.post(CHAT, json=BODY)).status_code for _ in range(3)]
        assert statuses == [429, 429, 200]

        await http.post("/_sim/reset", json={"steps": [{"text": "two"}]})
        assert (await http.get("/_sim/health")).json()["requests"] == 0
        assert "two" in (await http.post(CHAT, json=BODY)).text
        await http.post("/_sim/reset")
        assert "two" in (await http.post(CHAT, json=BODY)).text

        for path, body in (("/_sim/reset", [{"txt": 1}]), ("/_sim/fail", {"name": "nonsense"})):
            refused = await http.post(path, json=body)
            assert refused.status_code == 400
            assert refused.json()["error"]
        assert (await http.get("/_sim/nowhere")).status_code == 404


async def test_a_hanging_request_can_be_released():
    async with Simulator([{"text": "hi", "fault": "hang"}]) as sim, client(sim) as http:
        asking = asyncio.create_task(http.post(CHAT, json=BODY))
        await sim.until(lambda: sim.requests)
        await http.post("/_sim/release")
        assert (await asking).status_code == 504


async def test_memory_is_bounded():
    async with Simulator({"steps": [{"text": "hi"}], "loop": True}) as sim:
        big = json.dumps({**BODY, "user": "x" * 5_000_000}).encode()
        for _ in range(20):
            await exchange(sim, raw_request(body=big))
        sizes = [len(record.body) for record in sim.requests]
        assert sizes == [0] * 4 + [4 * 1024 * 1024] * 16
        assert sim.requests[0].body_size == len(big)
        await exchange(sim, raw_request() * 2_100)
        assert len(sim.requests) == 2_000
        assert all(record.json() == BODY for record in sim.requests)


async def test_unknown_faults_are_refused_at_once():
    async with Simulator() as sim:
        with pytest.raises(ValueError, match="unknown fault 'nonsense'"):
            sim.fail_next("nonsense")


async def test_until_gives_up():
    async with Simulator() as sim:
        with pytest.raises(TimeoutError):
            await sim.until(lambda: sim.requests, timeout=0.01)


def test_a_threaded_simulator_serves_code_without_a_loop():
    def ask(url: str) -> str:
        request = urllib.request.Request(url + CHAT, RAW_BODY, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()

    with ThreadedSimulator([{"text": "one"}]) as sim:
        assert sim.base_url == f"http://127.0.0.1:{sim.port}"
        assert "one" in ask(sim.base_url)
        sim.until(lambda: sim.requests[0].finished_at)
        sim.fail_next("500")
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(sim.base_url)
        refused.value.close()
        sim.reset([{"text": "two"}])
        sim.release()
        assert "two" in ask(sim.base_url)
        assert [record.status for record in sim.requests] == [200]


def test_the_command_prints_its_url_and_stops_on_a_signal(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text('[{"text": "from a file"}]')
    command = [sys.executable, "-m", "devtools.simulator"]
    with subprocess.Popen([*command, "--script", str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["pid"] == process.pid
        request = urllib.request.Request(ready["url"] + CHAT, RAW_BODY, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            assert b"from a file" in answer.read()
        process.terminate()
    assert process.returncode == 0

    script.write_text("[{")
    refused = subprocess.run([*command, "--script", str(script)], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "cannot be read" in refused.stderr
