"""Sessions over Socket.IO, by the client that python-socketio has."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import socketio  # pyright: ignore[reportMissingTypeStubs]

from openagent.protocol.tokens import TokensRevoke

from ..interaction.house import PATIENCE, House, house
from .calling import rest, token_with
from .test_graphql import elsewhere

pytestmark = pytest.mark.anyio
POLLING = "/socket.io/?EIO=4&transport=polling"
Heard = tuple[str, dict[str, Any]]


class Socket:
    """A client that keeps what it hears."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self.sio: Any = socketio.AsyncClient(reconnection=False, http_session=http)
        self.sio.on("*", self._hear)
        self.sio.on("disconnect", self._gone)
        self.heard: list[Heard] = []
        self.gone = asyncio.Event()
        self._news = asyncio.Event()

    async def _hear(self, name: str, told: dict[str, Any]) -> None:
        self.heard.append((name, told))
        self._news.set()

    async def _gone(self, reason: str = "") -> None:
        self.gone.set()

    async def call(self, name: str, **given: Any) -> dict[str, Any]:
        return await self.sio.call(name, given, timeout=PATIENCE)

    async def until(self, name: str, wanted: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The first of these, which is then forgotten with all before it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for place, (each, told) in enumerate(self.heard):
                    if each == name and wanted(told):
                        del self.heard[: place + 1]
                        return told
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def socket(h: House, token: str) -> AsyncGenerator[Socket, None]:
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as http:
        client = Socket(http)
        await client.sio.connect(h.daemon.place.web_url, transports=["websocket"], wait_timeout=PATIENCE)
        loops = [client.sio.eio.read_loop_task, client.sio.eio.write_loop_task]
        try:
            yield client
        finally:  # its own way to disconnect may wait for half a minute until one of these looks up
            await client.sio.eio.disconnect(abort=True)
            for each in loops:
                each.cancel()
            await asyncio.gather(*loops, return_exceptions=True)


def owners(h: House) -> str:
    return (h.home / "token").read_text()


async def test_a_message_is_answered_piece_by_piece_and_a_call_waits_for_approval(tmp_path: Path) -> None:
    write = {"name": "write_file", "arguments": {"path": "a.txt", "content": "one"}}
    script = [{"tool_calls": [write]}, {"chunks": ["all ", "done"]}]
    async with house(tmp_path, script, web=True) as h, socket(h, owners(h)) as client:
        async with rest(h) as owner:
            agent = await owner.agent(mode="ask")
        connected = await client.call("agent:connect", agentId=agent)
        assert (connected["ok"], connected["agentId"], connected["status"]) == (True, agent, "idle")
        assert (await client.until("agent:status"))["status"] == "idle"
        assert (await client.call("agent:message", agentId=agent, message="go"))["turn"] == 1
        await client.until("agent:status", lambda told: told["status"] == "thinking")
        asked = await client.until("agent:tool_call")
        assert (asked["agentId"], asked["toolName"], asked["requiresApproval"]) == (agent, "write_file", True)
        assert asked["arguments"] == write["arguments"]
        assert asked["riskLevel"] in ("low", "medium", "high")
        call = asked["toolCallId"]
        assert not (h.workspace / "a.txt").exists()
        assert (await client.call("tool:approve", agentId=agent, toolCallId=call, approved=True))["ok"]
        result = await client.until("agent:tool_result")
        assert (result["toolCallId"], result["success"]) == (call, True)
        assert (h.workspace / "a.txt").read_text() == "one"
        first = await client.until("agent:response")
        assert (first["isPartial"], first["content"]) == (True, "all ")
        own = await client.until(f"agent:{agent}:response", lambda told: not told["isPartial"])
        assert (own["content"], own["metadata"]["turn"]) == ("all done", 1)
        await client.until("agent:status", lambda told: told["status"] == "idle")
        again = await client.call("tool:approve", agentId=agent, toolCallId=call, approved=True)
        assert (again["ok"], again["error"]["code"]) == (False, "conflict")
        assert "waits for approval" in (await client.until("agent:error"))["error"]


async def test_a_turn_is_interrupted_metrics_come_and_what_is_wrong_is_told(tmp_path: Path) -> None:
    script = [{"text": "word " * 2000, "chunk_chars": 5, "chunk_ms": 100}]
    async with house(tmp_path, script, web=True) as h, socket(h, owners(h)) as client:
        async with rest(h) as owner:
            agent = await owner.agent()
        await client.call("agent:connect", agentId=agent)
        await client.call("agent:message", agentId=agent, message="go")
        await client.until("agent:response", lambda told: told["isPartial"])
        assert (await client.call("agent:interrupt", agentId=agent)) == {"ok": True, "wasRunning": True}
        await client.until("agent:status", lambda told: told["status"] == "idle")
        assert (await client.call("metrics:subscribe", agentIds=[agent], interval=500))["ok"]
        metrics = await client.until("metrics:update", lambda told: agent in told["agents"])
        assert metrics["system"]["sessions"] == 1
        assert metrics["timestamp"] > 1e12
        for name, given in (("agent:message", {"agentId": agent}), ("agent:connect", {"agentId": "none"})):
            assert not (await client.call(name, **given))["ok"]
            assert (await client.until("agent:error"))["agentId"] == given["agentId"]


async def test_who_has_no_token_stays_out_another_folders_hears_nothing_and_a_revoked_one_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h:
        async with rest(h) as owner:
            agent = await owner.agent()
            with monkeypatch.context() as without:
                without.setitem(sys.modules, "socketio", None)
                answer = await owner("GET", POLLING)
                assert (answer.status_code, answer.json()["detail"]) == (501, "Socket.IO is not installed here.")
            assert (await owner("GET", POLLING, Origin="http://evil")).status_code == 403
            opened = await owner("GET", POLLING)
            polling = f"{POLLING}&sid={json.loads(opened.text[1:])['sid']}"
            assert (await owner.client.post(polling, content="40")).text == "OK"
            assert (await owner("GET", polling)).text.startswith('40{"sid":')
        async with rest(h, "") as nobody:
            assert (await nobody("GET", POLLING)).status_code == 401
        async with socket(h, await elsewhere(h, tmp_path / "other")) as stranger:
            for name, more in (("agent:connect", {}), ("agent:message", {"message": "go"}), ("agent:interrupt", {})):
                refused = await stranger.call(name, agentId=agent, **more)
                assert refused["error"]["code"] in ("not_found", "permission_denied"), refused
        async with socket(h, await token_with(h, "read", name="ci")) as reader, await h.client() as owner:
            assert (await reader.call("agent:connect", agentId=agent))["ok"]
            said = await reader.call("agent:message", agentId=agent, message="go")
            assert said["error"]["code"] == "permission_denied"
            await owner.request(TokensRevoke(id=owner.next_id(), token="ci"))
            async with asyncio.timeout(PATIENCE):
                await reader.gone.wait()
