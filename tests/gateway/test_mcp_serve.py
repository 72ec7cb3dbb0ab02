"""`openagent mcp serve`: sessions as tools, used by the official SDK's client and by our own host."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp_types as types
import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters, stdio_client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client

from openagent.client.bridge_connection import BridgeConnection
from openagent.gateway.mcp.server import build
from openagent.gateway.mcp.sessions import Sessions
from openagent.protocol import events as e
from openagent.protocol.mcp import McpTest

from ..interaction.doing import ask, call, one_turn, results_of
from ..interaction.house import MODEL, House, house
from ..mcp_host.bench import plant
from ..mcp_host.test_real_servers import free_port

pytestmark = pytest.mark.anyio

Mode = Literal["legacy", "auto"]
MODES: list[Mode] = ["legacy", "auto"]


def shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server looks for its daemon."""
    monkeypatch.setenv("OPENAGENT_HOME", str(tmp_path / "home"))
    return tmp_path


@asynccontextmanager
async def daemon(home: Path, script: Any, mode: str = "ask", provider: str = "") -> AsyncGenerator[House, None]:
    config = f'model = "{MODEL}"\nmode = "{mode}"\n[jail]\nkind = "host"'
    async with house(home, script, config=config, provider=provider) as h:
        yield h


@asynccontextmanager
async def visiting(mode: Mode = "auto", **more: Any) -> AsyncGenerator[McpClient, None]:
    line = BridgeConnection()
    sessions = line.follower = Sessions(line)
    try:
        async with McpClient(build(sessions), mode=mode, **more) as client:
            yield client
    finally:
        await line.close()


def told(result: types.CallToolResult) -> dict[str, Any]:
    assert result.structured_content is not None
    return result.structured_content


def said(result: types.CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, types.TextContent))


async def start(client: McpClient, h: House) -> str:
    return told(await client.call_tool("start_session", {"cwd": str(h.workspace), "name": "made over MCP"}))["session"]


class Person:
    """At the other agent's end."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.asked: list[str] = []

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": self._answer})


async def test_a_turn_is_part_of_the_trace_of_whoever_asks_for_it(home: Path) -> None:
    given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with daemon(home, [{"text": "hi"}], provider="traced = true") as h, visiting() as client:
        arguments: dict[str, Any] = {"session": await start(client, h), "text": "go"}
        meta: Any = {"traceparent": given}
        await client.call_tool("send_message", arguments, meta=meta)
        (asked,) = [dict(each.headers) for each in h.sim.requests if each.method == "POST"]
        assert asked["traceparent"].startswith(given[:36])
        assert asked["traceparent"] != given


@pytest.mark.parametrize("mode", MODES)
async def test_a_message_is_answered_with_progress_on_the_way(home: Path, mode: Mode) -> None:
    script = [shell("echo one"), shell("echo two"), {"text": "Both are there."}]
    seen: list[str] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")

    async with daemon(home, script, "full") as h, visiting(mode) as client:
        session = await start(client, h)
        arguments = {"session": session, "text": "look"}
        result = await client.call_tool("send_message", arguments, progress_callback=report)
        assert (said(result), told(result)["reason"], told(result)["steps"]) == ("Both are there.", "done", 3)
        assert seen == ["shell echo one", "shell echo two"]
        listed = told(await client.call_tool("list_sessions", {"cwd": str(h.workspace)}))["sessions"]
        assert [(one["session"], one["name"]) for one in listed] == [(session, "made over MCP")]
        read = said(await client.call_tool("read_session", {"session": session}))
        assert "Both are there." in read
        assert "echo two" in read


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", ["allow", "deny"])
async def test_a_permission_is_asked_of_the_person_at_the_other_end(home: Path, mode: Mode, answer: str) -> None:
    person = Person(answer)
    async with daemon(home, [shell("touch a"), shell("touch b"), {"text": "Then."}]) as h:
        async with visiting(mode, elicitation_callback=person) as client:
            result = await client.call_tool("send_message", {"session": await start(client, h), "text": "go"})
        assert said(result) == "Then."
        assert [asked.splitlines()[0] for asked in person.asked] == ["shell: touch a", "shell: touch b"]
        assert (h.workspace / "a").exists() == (h.workspace / "b").exists() == (answer == "allow")


async def test_without_a_person_there_the_permission_waits_and_is_reported(home: Path) -> None:
    async with daemon(home, [shell("touch a"), {"text": "Made."}]) as h, visiting() as client:
        session = await start(client, h)
        result = told(await client.call_tool("send_message", {"session": session, "text": "go"}))
        (waiting,) = result["waiting_for"]
        assert (result["reason"], waiting["wants"]) == ("waiting", "touch a")
        assert told(await client.call_tool("read_session", {"session": session}))["waiting_for"] == [waiting]
        answer = {"session": session, "permission": waiting["permission"], "decision": "allow"}
        assert said(await client.call_tool("answer_permission", answer)) == "Made."
        assert (h.workspace / "a").exists()
        late = await client.call_tool("answer_permission", answer)
        assert (late.is_error, told(late)["code"]) == (True, "not_found")


async def test_a_question_is_reported_and_answered(home: Path) -> None:
    async with daemon(home, [call("ask_user", question="Which?"), {"text": "Blue it is."}]) as h, visiting() as client:
        session = await start(client, h)
        result = told(await client.call_tool("send_message", {"session": session, "text": "go"}))
        answer = {"session": session, "question": result["waiting_for"][0]["question"], "answer": "blue"}
        assert said(await client.call_tool("answer_question", answer)) == "Blue it is."


async def test_a_turn_can_be_cancelled_from_a_second_call(home: Path) -> None:
    async with daemon(home, [shell("sleep 60")], "full") as h, visiting() as client, await h.client() as watcher:
        session = await start(client, h)
        watched = await watcher.attach(session)
        turn = asyncio.create_task(client.call_tool("send_message", {"session": session, "text": "go"}))
        async for event in watched.events():
            if isinstance(event, e.ToolStarted):
                break
        assert told(await client.call_tool("cancel_turn", {"session": session}))["was_running"] is True
        assert told(await turn)["reason"] == "cancelled"


async def test_what_had_come_of_a_stopped_answer_is_told_with_how_it_ended(home: Path) -> None:
    stalled = {"chunks": ["Once", " upon", " a time."], "fault": {"name": "stall", "after": 2, "times": 1}}
    async with daemon(home, [stalled], "full") as h, visiting() as client, await h.client() as watcher:
        session = await start(client, h)
        watched = await watcher.attach(session)
        turn = asyncio.create_task(client.call_tool("send_message", {"session": session, "text": "go"}))
        async for event in watched.events():
            if isinstance(event, e.TextDelta) and "upon" in event.text:
                break
        await client.call_tool("cancel_turn", {"session": session})
        answer = await turn
        assert "Once upon" in said(answer)
        assert "stopped" in said(answer).lower()
        assert told(answer)["cost_usd"] is None


async def test_what_cannot_be_is_an_error_in_words(home: Path) -> None:
    async with daemon(home, [{"text": "", "fault": "401"}]) as h, visiting() as client:
        unknown = await client.call_tool("send_message", {"session": "none", "text": "hi"})
        assert (unknown.is_error, told(unknown)["code"]) == (True, "not_found")
        nowhere = await client.call_tool("start_session", {"cwd": "/not/there"})
        assert (nowhere.is_error, told(nowhere)["code"]) == (True, "invalid_argument")
        failed = await client.call_tool("send_message", {"session": await start(client, h), "text": "hi"})
        assert failed.is_error
        assert "key" in said(failed)


async def test_transcripts_are_resources(home: Path) -> None:
    async with daemon(home, [{"text": "Hello."}]) as h, visiting() as client:
        session = await start(client, h)
        await client.call_tool("send_message", {"session": session, "text": "hi"})
        (resource,) = (await client.list_resources()).resources
        assert (resource.title, resource.uri) == ("made over MCP", f"openagent://sessions/{session}/transcript")
        (content,) = (await client.read_resource(resource.uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert "Hello." in content.text


async def test_the_real_program_serves_on_stdio(home: Path) -> None:
    async with daemon(home, [{"text": "From the real program."}]) as h:
        env = {"OPENAGENT_HOME": str(h.home), "HOME": str(home)}
        program = StdioServerParameters(command=sys.executable, args=["-m", "openagent", "mcp", "serve"], env=env)
        async with McpClient(stdio_client(program)) as client:
            session = await start(client, h)
            assert said(await client.call_tool("send_message", {"session": session, "text": "hi"})) == (
                "From the real program."
            )


async def test_clients_are_told_of_what_they_subscribed_to_and_of_what_agents_do(home: Path) -> None:
    told: list[str] = []
    logged: list[tuple[str, Any]] = []
    changed = asyncio.Event()

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            told.append(str(message.params.uri))
            changed.set()

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append((params.level, params.data))

    async with (
        daemon(home, [shell("true"), {"text": "Done."}, {"text": "Again."}], "full") as h,
        visiting("legacy", message_handler=on_message, logging_callback=on_log) as client,
    ):
        session = await start(client, h)
        uri = f"openagent://sessions/{session}/transcript"
        await client.session.send_request(
            types.SetLevelRequest(params=types.SetLevelRequestParams(level="info")), types.EmptyResult
        )
        await client.session.send_request(
            types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)), types.EmptyResult
        )
        await client.call_tool("send_message", {"session": session, "text": "hi"})
        await changed.wait()
        assert set(told) == {uri}
        assert ("info", "shell true") in logged
        found = await client.complete(
            types.ResourceTemplateReference(uri="openagent://sessions/{session}/transcript"),
            {"name": "session", "value": session[:4]},
        )
        assert session in found.completion.values
        nothing = await client.complete(types.PromptReference(name="none"), {"name": "a", "value": "b"})
        assert nothing.completion.values == []
        await client.session.send_request(
            types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri)), types.EmptyResult
        )


@asynccontextmanager
async def serving_http(h: House, home: Path) -> AsyncGenerator[tuple[str, str], None]:
    """The real program: its address and its token."""
    port = free_port()
    env = {**os.environ, "OPENAGENT_HOME": str(h.home), "HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "openagent", "mcp", "serve", "--http", str(port), env=env, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        address = (await process.stderr.readline()).decode().split()[-1]
        token = (await process.stderr.readline()).decode().split()[-1]
        yield address, token
    finally:
        process.terminate()
        await process.stderr.read()
        await process.wait()


async def test_the_real_program_serves_over_http_who_has_the_token(home: Path) -> None:
    async with daemon(home, [{"text": "Over HTTP."}]) as h, serving_http(h, home) as (address, token):
        known = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=known, timeout=60) as http:
            async with McpClient(streamable_http_client(address, http_client=http)) as client:
                session = await start(client, h)
                assert said(await client.call_tool("send_message", {"session": session, "text": "hi"})) == "Over HTTP."
            strange = {"Origin": "http://evil.example"}
            assert (await http.post(address, json={}, headers=strange)).status_code == 403
            assert (await http.post(address, json={}, headers={"Host": "evil.example"})).status_code == 421
        async with httpx2.AsyncClient(timeout=60) as stranger:
            refused = await stranger.post(address, json={})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="openagent"')
            assert (await stranger.post(address, headers={"Authorization": f"Bearer {token}x"})).status_code == 401


async def test_an_answer_missed_by_a_broken_connection_is_had_after_it(home: Path) -> None:
    """A client that lost its connection in a long turn asks for what came since, and is given nobody else's."""
    async with daemon(home, [{"text": "Worth the wait."}]) as h, serving_http(h, home) as (address, token):
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            httpx2.AsyncClient(headers=headers, timeout=60) as other,
        ):
            await _greet(http, address)
            await _greet(other, address)
            session = json.loads(said_in(await _post(http, address, 1, "start_session", cwd=str(h.workspace))))
            begun = {"session": session["session"], "text": "hi"}
            async with http.stream("POST", address, json=_called(2, "send_message", **begun)) as stream:
                first = await anext(events_of(stream))
            assert (first["id"], first["data"]) == (first["id"], "")
            assert int(first["retry"]) > 0
            since = {"Last-Event-ID": first["id"]}
            assert await _missed(http, address, since) == "Worth the wait."
            async with other.stream("GET", address, headers=since) as theirs:
                assert (theirs.status_code, [event async for event in events_of(theirs)]) == (200, [])


def _called(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


async def _greet(http: httpx2.AsyncClient, address: str) -> None:
    version = "2025-11-25"
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    greeting = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = await http.post(address, json=greeting)
    http.headers |= {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "Mcp-Protocol-Version": version}
    await http.post(address, json={"jsonrpc": "2.0", "method": "notifications/initialized"})


async def _post(http: httpx2.AsyncClient, address: str, number: int, tool: str, **arguments: Any) -> str:
    async with http.stream("POST", address, json=_called(number, tool, **arguments)) as stream:
        return [event["data"] async for event in events_of(stream)][-1]


async def _missed(http: httpx2.AsyncClient, address: str, since: dict[str, str]) -> str:
    """As clients do: again, until the answer is there."""
    while True:
        async with http.stream("GET", address, headers=since) as stream:
            async for event in events_of(stream):
                if '"result"' in event["data"]:
                    return said_in(event["data"])


def said_in(data: str) -> str:
    return json.loads(data)["result"]["content"][0]["text"]


async def events_of(stream: httpx2.Response) -> AsyncGenerator[dict[str, str], None]:
    event: dict[str, str] = {}
    async for line in stream.aiter_lines():
        name, _, value = line.partition(": ")
        if line:
            event[name.strip(":")] = value
        elif event:
            yield {"data": "", **event}
            event = {}


def test_no_other_machine_is_served() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "openagent", "mcp", "serve", "--http", "0.0.0.0:7373"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "0.0.0.0 is not this machine" in ran.stderr


async def test_our_own_agents_can_use_it(home: Path) -> None:
    """One session gives another one its work, through the MCP host and this server."""
    env = {"OPENAGENT_HOME": str(home / "home"), "HOME": str(home)}
    plant(home, team={"command": sys.executable, "args": ["-m", "openagent", "mcp", "serve"], "env": env})
    script = {
        "conversations": [
            {"match": {"user": "the inner task"}, "steps": [{"text": "The inner answer."}]},
            {"steps": [call("start_session", mode="plan"), {"text": "Delegated."}]},
        ]
    }
    async with daemon(home, script, "full") as h, await h.client() as client:
        await ask(client, McpTest, cwd=str(h.workspace))
        session, completed, _ = await one_turn(h, client)
        (started,) = await results_of(client, session)
        inner = json.loads(started.text)["session"]
        assert (completed.text, started.is_error) == ("Delegated.", False)
        async with visiting() as visitor:
            answer = await visitor.call_tool("send_message", {"session": inner, "text": "the inner task"})
        assert said(answer) == "The inner answer."
