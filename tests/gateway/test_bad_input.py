"""Whatever arrives on a socket: a typed error or a clean close, and nobody else notices."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import InvalidStatus

from openagent.client.transport import UnixTransport
from openagent.daemon.connection import GAP
from openagent.protocol import events as e
from openagent.protocol.codec import MAX_FRAME, decode_event, frame
from openagent.protocol.version import PROTOCOL_VERSION

from ..interaction.doing import shell
from ..interaction.house import House, house, new_session, until

pytestmark = pytest.mark.anyio
HELLO = {"op": "hello", "id": "h", "protocol": PROTOCOL_VERSION}


class RawClient:
    """Bytes in, events out: what a broken client can do."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, house: House, *, greet: bool = True) -> "RawClient":
        client = cls(*await asyncio.open_unix_connection(house.daemon.place.socket, limit=MAX_FRAME))
        if greet:
            await client.op(HELLO)
            assert isinstance(await client.event(), e.Reply)
        return client

    async def op(self, op: dict[str, Any]) -> None:
        await self.write(frame(json.dumps(op).encode()))

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    async def event(self) -> e.AnyEvent | None:
        async with asyncio.timeout(60):
            try:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                return decode_event(await self._reader.readexactly(size))
            except (asyncio.IncompleteReadError, ConnectionError):
                return None

    async def is_alive(self) -> bool:
        await self.op({"op": "ping", "id": "alive"})
        event = await self.event()
        return isinstance(event, e.Reply) and event.op_id == "alive"


@contextlib.asynccontextmanager
async def raw_house(tmp_path: Path) -> AsyncGenerator[tuple[House, RawClient], None]:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hi"}]}) as h:
        client = await RawClient.open(h)
        yield h, client
        client.writer.close()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad_frame"),
        (b"not json", "bad_frame"),
        (b"[]", "bad_frame"),
        (b"null", "bad_frame"),
        (b"\xff\xfe\x00", "bad_frame"),
        (b"[" * 100_000, "bad_frame"),
        (b"{}", "unknown_op"),
        (b'{"op": "session.explode", "id": "x"}', "unknown_op"),
        (b'{"op": 7, "id": "x"}', "bad_frame"),
        (b'{"op": "session.get", "id": "x"}', "bad_op"),
        (b'{"op": "session.get", "id": "x", "session": 5}', "bad_op"),
        (b'{"op": "message.send", "id": "x", "session": "s", "parts": [{"type": "video"}]}', "bad_op"),
        (b'{"op": "session.get", "id": "x", "session": "nope-nope"}', "not_found"),
        (b'{"op": "session.get", "id": "x", "session": "\\u0000"}', "not_found"),
        (b'{"op": "session.create", "id": "x", "cwd": "relative"}', "invalid_argument"),
        (b'{"op": "session.create", "id": "x", "cwd": "/no/such/dir"}', "invalid_argument"),
        (b'{"op": "session.create", "id": "x", "cwd": "/tmp", "settings": {"mode": "yolo"}}', "bad_op"),
        (b'{"op": "session.create", "id": "x", "cwd": "/tmp", "settings": {"mood": "good"}}', "bad_op"),
        (
            b'{"op": "permission.answer", "id": "x", "session": "nope-nope", "ask": "a", "decision": "allow"}',
            "not_found",
        ),
    ],
)
async def test_a_malformed_op_gets_a_typed_error_and_the_connection_lives(
    tmp_path: Path, body: bytes, code: str
) -> None:
    async with raw_house(tmp_path) as (_, client):
        await client.write(frame(body))
        event = await client.event()
        assert isinstance(event, e.Failed)
        assert event.error.code == code
        assert event.error.message.endswith(".")
        assert await client.is_alive()


async def test_an_op_before_hello_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h:
        client = await RawClient.open(h, greet=False)
        await client.op({"op": "daemon.status", "id": "1"})
        event = await client.event()
        assert isinstance(event, e.Failed)
        assert event.error.code == "unauthorized"
        client.writer.close()


async def test_a_client_of_another_major_version_is_told_what_to_do(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h:
        client = await RawClient.open(h, greet=False)
        await client.op({"op": "hello", "id": "1", "protocol": "99.0"})
        event = await client.event()
        assert isinstance(event, e.Failed)
        assert event.error.code == "version_mismatch"
        assert "openagent stop" in event.error.hint
        client.writer.close()


async def test_an_oversized_frame_ends_the_connection_with_a_reason(tmp_path: Path) -> None:
    async with raw_house(tmp_path) as (h, client):
        await client.write((MAX_FRAME + 1).to_bytes(4, "big") + b"x")
        event = await client.event()
        assert isinstance(event, e.ConnectionClosing)
        assert event.error.code == "bad_frame"
        assert await client.event() is None
        other = await RawClient.open(h)
        assert await other.is_alive()
        other.writer.close()


async def test_half_a_frame_holds_up_nobody_else(tmp_path: Path) -> None:
    async with raw_house(tmp_path) as (h, client):
        await client.write((1000).to_bytes(4, "big") + b'{"op": "pi')
        other = await RawClient.open(h)
        assert await other.is_alive()
        other.writer.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 400), max_size=30), count=st.integers(1, 12))
def test_frames_may_arrive_in_any_pieces(tmp_path_factory: pytest.TempPathFactory, cuts: list[int], count: int) -> None:
    async def scenario() -> None:
        async with raw_house(tmp_path_factory.mktemp("pieces")) as (_, client):
            data = b"".join(frame(json.dumps({"op": "ping", "id": f"p{n}"}).encode()) for n in range(count))
            places = sorted({min(cut, len(data)) for cut in cuts})
            for start, end in zip([0, *places], [*places, len(data)], strict=True):
                await client.write(data[start:end])
                await asyncio.sleep(0)
            replies = [await client.event() for _ in range(count)]
            assert [reply.op_id for reply in replies if isinstance(reply, e.Reply)] == [f"p{n}" for n in range(count)]

    asyncio.run(scenario())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies=st.lists(st.binary(max_size=300), min_size=1, max_size=6))
def test_noise_never_takes_the_daemon_down(tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes]) -> None:
    async def scenario() -> None:
        async with raw_house(tmp_path_factory.mktemp("noise")) as (_, client):
            for body in bodies:
                await client.write(frame(body))
                assert isinstance(await client.event(), e.Failed)
            assert await client.is_alive()

    asyncio.run(scenario())


async def test_a_client_that_never_reads_is_cut_off_and_slows_nobody(tmp_path: Path) -> None:
    steps = [{"text": "x" * 1_500_000, "chunk_chars": 50_000}]
    async with house(tmp_path, {"loop": True, "steps": steps}) as h, await h.client() as watcher:
        session = await new_session(h, watcher)
        attachment = await watcher.attach(session)
        deaf = await RawClient.open(h)
        await deaf.op({"op": "session.attach", "id": "a", "session": session})
        await deaf.event()
        deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
        while len(h.daemon.connections) == 2:
            await watcher.send(session, "more")
            await attachment.until_turn_ends()
        deaf.writer.transport.resume_reading()  # type: ignore[attr-defined]
        last = None
        while (event := await deaf.event()) is not None:
            last = event
        assert isinstance(last, e.ConnectionClosing)
        assert last.error.code == "slow_client"
        deaf.writer.close()


async def test_a_client_that_lags_is_spared_output_with_a_mark_and_keeps_its_connection(tmp_path: Path) -> None:
    steps = [shell("head -c 12000000 /dev/zero | tr '\\0' x"), {"text": "Much."}]
    async with house(tmp_path, steps) as h, await h.client() as watcher:
        session = await new_session(h, watcher)
        attachment = await watcher.attach(session)
        slow = await RawClient.open(h)
        await slow.op({"op": "session.attach", "id": "a", "session": session})
        await slow.event()
        slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await watcher.send(session, "go")
        completed, _ = await attachment.until_turn_ends()
        assert completed.text == "Much."
        slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
        seen: list[e.AnyEvent | None] = []
        while not isinstance(seen[-1] if seen else None, e.TurnCompleted):
            seen.append(await slow.event())
        output = [event for event in seen if isinstance(event, e.ToolOutput)]
        finished = next(place for place, event in enumerate(seen) if isinstance(event, e.ToolFinished))
        assert seen[finished - 1] is output[-1]
        assert output[-1].text == GAP
        assert sum(len(event.text) for event in output) < 4_000_000
        slow.writer.close()


async def test_the_python_client_comes_back_from_where_it_was_when_it_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_read = asyncio.Event()
    may_read.set()

    class Reluctant(UnixTransport):
        async def receive(self) -> bytes | None:
            await may_read.wait()
            return await super().receive()

    monkeypatch.setattr("openagent.client.client.UnixTransport", Reluctant)
    steps = [{"text": "x" * 1_500_000, "chunk_chars": 50_000}]
    async with house(tmp_path, {"loop": True, "steps": steps}) as h, await h.client() as slow:
        session = await new_session(h, slow)
        attachment = await slow.attach(session)
        async with await h.in_process_client() as quick:
            watching = await quick.attach(session)
            may_read.clear()
            turns = 0
            while len(h.daemon.connections) == 2:
                await quick.send(session, "more")
                await watching.until_turn_ends()
                turns += 1
            may_read.set()
            ended = [(await attachment.until_turn_ends())[0].turn for _ in range(turns)]
            assert ended == list(range(1, turns + 1)), "each turn's end is heard once"
            await quick.send(session, "and live again")
            completed, seen = await attachment.until_turn_ends()
            assert completed.turn == turns + 1
            assert [event for event in seen if isinstance(event, e.TextDelta)]
            assert (await slow.create_session(str(h.workspace))).id, "ops work as before"


async def test_ops_sent_in_one_write_are_carried_out_in_order(tmp_path: Path) -> None:
    async with raw_house(tmp_path) as (h, client):
        ops = [
            {"op": "session.create", "id": "1", "session": "chosen-by-client", "cwd": str(h.workspace),
             "settings": {"model": "compatible/x", "mode": "full"}},
            {"op": "session.attach", "id": "2", "session": "chosen-by-client", "messages": 0},
            {"op": "message.send", "id": "3", "session": "chosen-by-client", "text": "hi"},
        ]  # fmt: skip
        await client.write(b"".join(frame(json.dumps(op).encode()) for op in ops))
        seen: list[e.AnyEvent | None] = []
        while not isinstance(event := await client.event(), e.TurnCompleted):
            seen.append(event)
        assert [event.op_id for event in seen if isinstance(event, e.Reply)] == ["1", "2", "3"]


async def test_a_client_that_leaves_in_the_middle_of_a_turn_does_not_stop_it(tmp_path: Path) -> None:
    script = [{"text": "slowly", "latency_ms": 150}]
    async with house(tmp_path, script) as h:
        async with await h.client() as client:
            session = await new_session(h, client)
            await client.send(session, "go")
        async with await h.client() as other:
            attachment = await other.attach(session, after=0)
            await until(attachment, lambda event: isinstance(event, e.TurnCompleted) and event.reason == "done")


async def test_the_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root to act as another user")
    async with house(tmp_path, [{"text": "hi"}]) as h:
        socket = Path(h.daemon.place.socket)
        assert socket.stat().st_mode & 0o777 == 0o600
        for directory in (h.home, *h.home.parents):
            if directory != Path("/"):
                directory.chmod(directory.stat().st_mode | 0o755)
        assert await _connect_as_nobody(socket) == "PermissionError"
        socket.chmod(0o666)
        assert "another user" in await _connect_as_nobody(socket)


async def _connect_as_nobody(socket: Path) -> str:
    script = (
        "import os,socket,sys\nos.setgroups([]);os.setgid(65534);os.setuid(65534)\n"
        "s=socket.socket(socket.AF_UNIX)\n"
        "try:\n s.connect(sys.argv[1]); print(s.recv(65536))\n"
        "except Exception as problem: print(type(problem).__name__)\n"
    )
    arguments = [sys.executable, "-Sc", script, str(socket)]
    done = await asyncio.to_thread(subprocess.run, arguments, capture_output=True, text=True, timeout=20)
    return (done.stdout + done.stderr).strip()


# WebSocket


async def _ws(house: House, token: str, **headers: str) -> str:
    url = house.daemon.place.web_url.replace("http", "ws") + "/ws"
    try:
        async with ws_connect(url, additional_headers={"Authorization": f"Bearer {token}", **headers}) as socket:
            await socket.send(json.dumps(HELLO))
            return str(await asyncio.wait_for(socket.recv(), 5))
    except InvalidStatus as refused:
        return f"refused {refused.response.status_code}"


async def test_the_websocket_wants_its_token_its_host_and_its_origin(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h:
        token = (h.home / "token").read_text()
        assert (h.home / "token").stat().st_mode & 0o777 == 0o600
        assert '"reply"' in await _ws(h, token)
        assert await _ws(h, "wrong") == "refused 401"
        assert await _ws(h, "") == "refused 401"
        assert await _ws(h, token, Origin="https://evil.example") == "refused 403"
        assert '"reply"' in await _ws(h, token, Origin=h.daemon.place.web_url)


async def test_the_websocket_answers_bad_input_with_a_typed_error(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h:
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        headers = {"Authorization": f"Bearer {(h.home / 'token').read_text()}"}
        async with ws_connect(url, additional_headers=headers) as socket:
            await socket.send(json.dumps(HELLO))
            await socket.recv()
            for body in ("", "nonsense", b"\xff\xfe", '{"op": "nope", "id": "1"}', "[" * 10_000):
                await socket.send(body)
                event = decode_event(await asyncio.wait_for(socket.recv(), 5))
                assert isinstance(event, e.Failed)
            await socket.send('{"op": "ping", "id": "p"}')
            assert isinstance(decode_event(await socket.recv()), e.Reply)
