"""JSON-RPC 2.0: the protocol's rules, and OpenAgent's methods over a whole daemon."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.client import Client
from openagent.gateway.jsonrpc import Bridge
from openagent.gateway.jsonrpc_wire import Lines, Peer

from ..interaction.house import MODEL, PATIENCE, House, house

pytestmark = pytest.mark.anyio


class Talk:
    """A JSON-RPC client in the test's own process."""

    def __init__(self, peer: Peer, said: list[Any]) -> None:
        self.peer = peer
        self.said = said

    async def send(self, *messages: Any) -> None:
        for message in messages:
            await self.peer.receive(message if isinstance(message, bytes) else json.dumps(message).encode())

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                for message in self.said:
                    if wanted(message):
                        return message
                await asyncio.sleep(0.001)

    async def call(self, method: str, params: Any = None, request_id: Any = None) -> Any:
        request_id = request_id or f"{method} {len(self.said)}"
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}})
        reply = await self.until(lambda message: "id" in message and message["id"] == request_id)
        return reply["result"] if "result" in reply else reply["error"]

    def notified(self, method: str) -> list[Any]:
        return [message["params"] for message in self.said if message.get("method") == method]


@asynccontextmanager
async def talking(h: House) -> AsyncGenerator[Talk, None]:
    async with await h.client(interactive=True, name="rpc") as client:
        bridge = Bridge(client, str(h.workspace))
        said: list[Any] = []
        peer = Peer(bridge.methods, lambda body: said.append(json.loads(body)))
        following = asyncio.create_task(_follow(client, bridge, peer))
        await asyncio.sleep(0)
        yield Talk(peer, said)
        await peer.finish()
        following.cancel()


async def _follow(client: Client, bridge: Bridge, peer: Peer) -> None:
    async with client.all_events() as events:
        while (event := await events.get()) is not None:
            bridge.show(event, peer.notify)


def shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}]}


# The protocol's rules


class Nobody:
    """A peer without a daemon, for what never reaches one."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.peer = Peer({}, lambda body: self.said.append(json.loads(body)))


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{nonsense", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"1", -32600, None),
        (b'"text"', -32600, None),
        (b"[]", -32600, None),
        (b'{"id": 7, "method": "x"}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": 7}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": 1}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "x"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "x"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": 3}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "x"}', -32601, "a"),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "x"}', -32601, 1.5),
        (b'{"jsonrpc": "2.0", "id": null, "method": "x"}', -32601, None),
        (None, -32600, None),
    ],
)
async def test_what_is_no_request_gets_the_error_that_the_standard_names(
    line: bytes | None, code: int, request_id: Any
) -> None:
    nobody = Nobody()
    await nobody.peer.receive(line)
    (reply,) = nobody.said
    assert (reply["jsonrpc"], reply["id"], reply["error"]["code"]) == ("2.0", request_id, code)
    assert reply["error"]["message"]


async def test_a_batch_is_answered_in_one_and_a_notification_not_at_all() -> None:
    nobody = Nobody()
    await nobody.peer.receive(b'[{"jsonrpc": "2.0", "id": 1, "method": "x"}, 5, {"jsonrpc": "2.0", "method": "x"}]')
    await nobody.peer.receive(b'{"jsonrpc": "2.0", "method": "x"}')
    await nobody.peer.receive(b'[{"jsonrpc": "2.0", "method": "x"}]')
    (batch,) = nobody.said
    assert [(reply["id"], reply["error"]["code"]) for reply in batch] == [(1, -32601), (None, -32600)]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 30), st.integers(1, 60))
def test_lines_come_whole_however_the_bytes_are_cut(pieces: list[bytes], limit: int, cut: int) -> None:
    wanted = [piece.replace(b"\n", b" ") for piece in pieces]
    stream = b"".join(line + b"\n" for line in wanted)
    lines = Lines(limit)
    got = [line for start in range(0, len(stream), cut) for line in lines.feed(stream[start : start + cut])]
    assert got == [line if len(line) <= limit else None for line in wanted]
    assert list(lines.end()) == []


# The methods


async def test_a_chat_streams_its_answer_and_ends_with_the_reply(tmp_path: Path) -> None:
    script = [{"text": "Looking.", **shell("echo found")}, {"text": "It is here.", "thinking": "hm"}]
    async with house(tmp_path, script) as h, talking(h) as talk:
        created = await talk.call("session.create", {"name": "rpc", "model": MODEL, "mode": "full"})
        assert (created["name"], created["codebase_path"]) == ("rpc", str(h.workspace))
        reply = await talk.call("chat.send", {"message": "where is it?"})
        assert (reply["session"], reply["reason"], reply["text"], reply["steps"]) == (
            created["id"],
            "done",
            "It is here.",
            2,
        )
        assert "".join(chunk["chunk"] for chunk in talk.notified("response_chunk")) == "Looking.It is here."
        (call,), (result,) = talk.notified("tool_call"), talk.notified("tool_result")
        assert (call["name"], call["params"]) == ("shell", {"command": "echo found"})
        assert (result["name"], result["result"], result["id"]) == ("shell", "found", call["id"])
        stats = await talk.call("tokens.get")
        update = talk.notified("token_update")[-1]
        assert stats["request_count"] == 2
        assert stats["total_tokens"] == update["total"] == update["input"] + update["output"] > 0


async def test_a_chat_needs_no_session_and_params_may_come_by_position(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hello"}], config=f'model = "{MODEL}"') as h, talking(h) as talk:
        reply = await talk.call("chat.send", ["hi"])
        assert reply["text"] == "hello"
        assert [one["id"] for one in await talk.call("session.list")] == [reply["session"]]
        loaded = await talk.call("session.load", [reply["session"][:-2]])
        assert (loaded["id"], loaded["metadata"]["message_count"]) == (reply["session"], 2)
        assert await talk.call("session.delete", {"id": reply["session"]}) is True
        assert await talk.call("session.list") == []


async def test_a_running_chat_can_be_cancelled_while_its_reply_is_owed(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("sleep 60")]) as h, talking(h) as talk:
        await talk.call("session.create", {"model": MODEL, "mode": "full"})
        await talk.send({"jsonrpc": "2.0", "id": 9, "method": "chat.send", "params": {"message": "go"}})
        await talk.until(lambda message: message.get("method") == "tool_call")
        assert await talk.call("chat.cancel") is True
        reply = await talk.until(lambda message: message.get("id") == 9)
        assert reply["result"]["reason"] == "cancelled"
        assert await talk.call("chat.cancel") is False


async def test_a_turn_that_fails_is_an_error_with_the_reason(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "", "fault": "401"}]) as h, talking(h) as talk:
        session = (await talk.call("session.create", {"model": MODEL}))["id"]
        error = await talk.call("chat.send", {"message": "go"})
        assert error["code"] == -32000
        assert error["data"]["code"] == "auth_failed"
        assert error["data"]["session"] == session
        assert talk.notified("error")[0]["code"] == "auth_failed"


async def test_a_permission_request_is_announced_and_answered(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("touch made"), {"text": "ok"}]) as h, talking(h) as talk:
        await talk.call("session.create", {"model": MODEL, "mode": "ask"})
        await talk.send({"jsonrpc": "2.0", "id": 9, "method": "chat.send", "params": {"message": "go"}})
        asked = (await talk.until(lambda message: message.get("method") == "permission_requested"))["params"]
        assert (asked["name"], asked["params"], asked["summary"]) == ("shell", {"command": "touch made"}, "touch made")
        assert await talk.call("permission.answer", {"id": asked["id"], "decision": "allow"}) is True
        assert (await talk.until(lambda message: message.get("id") == 9))["result"]["text"] == "ok"
        assert (h.workspace / "made").exists()
        again = await talk.call("permission.answer", {"id": asked["id"], "decision": "allow"})
        assert again["data"]["code"] == "conflict"


async def test_a_tool_can_be_called_and_leaves_no_trace_in_the_history(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}]) as h, talking(h) as talk:
        (h.workspace / "a.txt").write_text("first\n")
        session = (await talk.call("session.create", {"model": MODEL, "mode": "full"}))["id"]
        names = [tool["name"] for tool in await talk.call("tools.list")]
        assert {"read_file", "shell"} <= set(names)
        ran = await talk.call("tools.call", {"name": "read_file", "params": {"path": "a.txt"}})
        assert (ran["text"], ran["is_error"]) == ("1\tfirst", False)
        assert talk.notified("tool_call")[0]["id"].startswith("user-")
        failed = await talk.call("tools.call", {"name": "shell", "params": {"command": "exit 3"}})
        assert (failed["is_error"], failed["display"]["exit_code"]) == (True, 3)
        assert (await talk.call("tools.call", {"name": "nope"}))["is_error"] is True
        loaded = await talk.call("session.load", {"id": session})
        assert (loaded["metadata"]["message_count"], loaded["metadata"]["status"]) == (0, "idle")


async def test_a_tool_call_obeys_the_mode_and_waits_for_a_permission(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}]) as h, talking(h) as talk:
        await talk.call("session.create", {"model": MODEL, "mode": "plan"})
        denied = await talk.call("tools.call", {"name": "write_file", "params": {"path": "a", "content": "b"}})
        assert denied["is_error"] is True
        assert "Denied" in denied["text"]
        await talk.call("session.create", {"model": MODEL, "mode": "ask"})
        call = {"name": "write_file", "params": {"path": "a", "content": "b"}}
        await talk.send({"jsonrpc": "2.0", "id": 5, "method": "tools.call", "params": call})
        asked = (await talk.until(lambda message: message.get("method") == "permission_requested"))["params"]
        assert not (h.workspace / "a").exists()
        await talk.call("permission.answer", {"id": asked["id"], "decision": "allow"})
        assert (await talk.until(lambda message: message.get("id") == 5))["result"]["is_error"] is False
        assert (h.workspace / "a").read_text() == "b"


async def test_a_tool_call_is_cancelled_like_a_turn(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}]) as h, talking(h) as talk:
        session = (await talk.call("session.create", {"model": MODEL, "mode": "full"}))["id"]
        call = {"name": "shell", "params": {"command": "sleep 60"}}
        await talk.send({"jsonrpc": "2.0", "id": 5, "method": "tools.call", "params": call})
        await talk.until(lambda message: message.get("method") == "tool_call")
        assert await talk.call("chat.cancel") is True
        assert (await talk.until(lambda message: message.get("id") == 5))["result"]["is_error"] is True
        assert (await talk.call("session.load", {"id": session}))["metadata"]["status"] == "idle"


async def test_a_configured_cap_is_seen_as_the_budget(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}], config="[budget]\nsession_tokens = 900\n") as h, talking(h) as talk:
        await talk.call("session.create", {"model": MODEL})
        stats = await talk.call("tokens.get")
        assert (stats["budget"], stats["budget_remaining"]) == (900, 900)


async def test_a_budget_is_set_and_seen(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}]) as h, talking(h) as talk:
        await talk.call("session.create", {"model": MODEL})
        assert await talk.call("tokens.set_budget", {"tokens": 500}) is True
        stats = await talk.call("tokens.get")
        assert (stats["budget"], stats["budget_remaining"]) == (500, 500)
        assert (await talk.call("tokens.set_budget", {"tokens": -1}))["code"] == -32602


async def test_params_that_do_not_fit_are_refused_in_words(tmp_path: Path) -> None:
    wrong: list[tuple[str, Any]] = [
        ("chat.send", {}),
        ("chat.send", {"message": 5}),
        ("chat.send", {"message": "hi", "extra": 1}),
        ("session.load", ["a", "b"]),
        ("session.create", {"mode": "wild"}),
        ("session.create", {"codebase_path": "/does/not/exist"}),
        ("tokens.get", {}),
        ("chat.send", {"message": "  "}),
    ]
    async with house(tmp_path, [{"text": "x"}]) as h, talking(h) as talk:
        for method, params in wrong:
            error = await talk.call(method, params)
            assert (method, params, error["code"]) == (method, params, -32602)
            assert error["message"]


async def test_an_unknown_session_is_refused_with_the_daemons_own_code(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}]) as h, talking(h) as talk:
        error = await talk.call("chat.send", {"message": "hi", "session": "nope"})
        assert (error["code"], error["data"]["code"]) == (-32000, "not_found")


async def test_a_batch_with_a_chat_is_answered_when_the_chat_has_ended(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hello"}]) as h, talking(h) as talk:
        await talk.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "session.create", "params": {"model": MODEL}},
                {"jsonrpc": "2.0", "id": 2, "method": "chat.send", "params": {"message": "hi"}},
                {"jsonrpc": "2.0", "method": "tokens.get"},
            ]
        )
        batch = await talk.until(lambda message: isinstance(message, list))
        assert [reply["id"] for reply in batch] == [1, 2]
        assert batch[1]["result"]["text"] == "hello"
