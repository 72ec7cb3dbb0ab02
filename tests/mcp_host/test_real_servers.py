"""Servers that others wrote: from PyPI in the jail, from npm in the jail and over HTTP."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openagent.protocol import events as e
from openagent.protocol.mcp import McpTest

from ..interaction.doing import ask, call, one_turn, results_of, turn
from ..interaction.house import house, new_session, until
from ..servers import patient
from .bench import SCRIPTED, offered, plant, scripted

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("npm")]

PACKAGE = Path(__file__).with_name("servers")
ROOT = Path(__file__).parents[2]
EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
CONFORMANCE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
FILESYSTEM = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"


def installed() -> None:
    """`make test` has done this already; whoever runs this file alone waits for it once."""
    done = subprocess.run([ROOT / "scripts" / "test_servers.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def npm() -> Path:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm on this machine")
    installed()
    return PACKAGE


@pytest.fixture(scope="module")
def fetch() -> Path:
    """The folder of `mcp-server-fetch`."""
    installed()
    return ROOT / "build" / "mcp-fetch" / "bin"


@pytest.fixture
def programs_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jail lets in what is on PATH."""
    monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}")


def into_workspace(npm: Path, tmp_path: Path) -> None:
    shutil.copytree(npm / "node_modules", tmp_path / "workspace" / "node_modules", symlinks=True, copy_function=os.link)


@asynccontextmanager
async def everything(npm: Path, kind: str, port: int) -> AsyncGenerator[asyncio.subprocess.Process, None]:
    process = await asyncio.create_subprocess_exec(
        "node", EVERYTHING, kind, cwd=npm, env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        while b"port" not in await process.stderr.readline():
            assert process.returncode is None
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        while await process.stderr.read(65536):
            pass
        await process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.usefixtures("programs_on_path")
async def test_servers_from_pypi_work_in_the_jail(tmp_path: Path) -> None:
    plant(tmp_path, time={"command": "mcp-server-time"}, git={"command": "mcp-server-git"})
    workspace = tmp_path / "workspace"
    subprocess.run(["git", "init", "-q", "-b", "trunk", workspace], check=True)
    script = [
        call("convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
        call("git_status", repo_path=str(workspace)),
        {"text": "ok"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        time, status = await results_of(client, session)
        assert "21:00:00" in time.text
        assert "On branch trunk" in status.text


def offers_more(event: e.Event) -> bool:
    return isinstance(event, e.McpServerStatus) and event.tools == 2


@asynccontextmanager
async def web_page(html: str) -> AsyncGenerator[tuple[int, list[str]], None]:
    """Its port on 127.0.0.1, and the paths that were asked for."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        asked.append(path)
        status, body = ("200 OK", html) if path == "/page" else ("404 Not Found", "")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close"
        writer.write(f"{head}\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(patient(answer), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()


async def test_the_fetch_server_reaches_the_hosts_of_its_entry_and_no_others(
    fetch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{fetch}:{os.environ['PATH']}")
    page = "<html><body><article><h1>Tides</h1><p>High water is at noon.</p></article></body></html>"
    async with web_page(page) as (port, asked), web_page(page) as (other_port, asked_elsewhere):
        entry = {"command": "mcp-server-fetch", "args": ["--allow-private-ips"], "network": [f"127.0.0.1:{port}"]}
        plant(tmp_path, fetch=entry)
        script = [
            call("fetch", url=f"http://127.0.0.1:{port}/page", raw=True),
            call("fetch", url=f"http://127.0.0.1:{other_port}/page"),
            {"text": "ok"},
        ]
        async with house(tmp_path, script) as h, await h.client() as client:
            await ask(client, McpTest, cwd=str(h.workspace))
            session, completed, _ = await one_turn(h, client)
            assert completed.reason == "done"
            fetched, refused = await results_of(client, session)
            assert "High water is at noon." in fetched.text
            assert refused.is_error
            assert "/page" in asked
            assert asked_elsewhere == []


@pytest.mark.usefixtures("programs_on_path")
async def test_a_server_of_the_newest_protocol_tells_that_it_offers_more(tmp_path: Path) -> None:
    plant(tmp_path, modern={"command": "python", "args": ["modern_server.py"]})
    shutil.copy(Path(__file__).with_name("modern_server.py"), tmp_path / "workspace")
    script = [call("grow"), {"text": "ok"}, call("grown"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        _, seen = await turn(client, attachment)
        if not any(map(offers_more, seen)):
            seen = await until(attachment, offers_more)
        assert sum(map(offers_more, seen)) == 1
        await turn(client, attachment)
        assert [result.text for result in await results_of(client, attachment.session)][1:] == ["I am new."]


async def test_servers_from_npm_work_in_the_jail(npm: Path, tmp_path: Path) -> None:
    plant(
        tmp_path,
        everything={"command": "node", "args": [EVERYTHING]},
        files={"command": "node", "args": [FILESYSTEM, "."]},
    )
    into_workspace(npm, tmp_path)
    (tmp_path / "workspace" / "note.txt").write_text("remember")
    (tmp_path / "secret.txt").write_text("never")
    script = [
        call("get-sum", a=2, b=40),
        call("get-tiny-image"),
        call("get-roots-list"),
        call("trigger-long-running-operation", duration=0.2, steps=2),
        call("read_text_file", path="note.txt"),
        call("read_text_file", path=str(tmp_path / "secret.txt")),
        {"text": "ok"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert "files__read_file" in offered(h)
        added, image, roots, _, note, secret = await results_of(client, session)
        assert "42" in added.text
        assert [each.media_type for each in image.images] == ["image/png"]
        assert str(h.workspace) in roots.text
        assert any(isinstance(event, e.ToolOutput) and event.stream == "progress" for event in seen)
        assert note.text == "remember"
        assert secret.is_error
        assert "never" not in secret.text


@pytest.mark.parametrize(("kind", "transport", "path"), [("streamableHttp", "http", "mcp"), ("sse", "sse", "sse")])
async def test_a_server_over_http_is_reached_and_reached_again(
    npm: Path, tmp_path: Path, kind: str, transport: str, path: str
) -> None:
    port = free_port()
    plant(tmp_path, far={"type": transport, "url": f"http://127.0.0.1:{port}/{path}"})
    long_call = call("trigger-long-running-operation", duration=30, steps=30)
    done: dict[str, Any] = {"text": "ok"}
    script = [call("get-sum", a=2, b=40), done, long_call, done, call("get-sum", a=1, b=1), done]
    async with house(tmp_path, script) as h, await h.client() as client:
        async with everything(npm, kind, port) as server:
            attachment = await client.attach(await new_session(h, client))
            await turn(client, attachment)
            await client.send(attachment.session, "and now for long")
            await until(attachment, lambda event: isinstance(event, e.ToolOutput))
            server.send_signal(signal.SIGKILL)
            completed, _ = await attachment.until_turn_ends()
            assert completed.reason == "done"
        async with everything(npm, kind, port):
            await until(attachment, lambda event: isinstance(event, e.McpServerStatus) and event.status == "up")
            await turn(client, attachment)
        first, broken, last = await results_of(client, attachment.session)
        assert "42" in first.text
        assert broken.is_error
        assert "2" in last.text


async def test_twenty_servers_work_side_by_side(tmp_path: Path) -> None:
    plant(tmp_path, **{f"s{number}": scripted() for number in range(20)})
    calls = [{"name": f"s{number}__echo", "arguments": {"text": str(number)}} for number in range(20)]
    async with house(tmp_path, [{"tool_calls": calls}, {"text": "ok"}]) as h, await h.client() as client:
        tested = await ask(client, McpTest, cwd=str(h.workspace))
        assert {server.status for server in tested.servers} == {"up"}
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert {result.text for result in await results_of(client, session)} == {str(number) for number in range(20)}


def process_of(mark: str) -> int:
    """The server itself, not what keeps it in the jail."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            started_so = (entry / "cmdline").read_bytes().rstrip(b"\0").endswith(mark.encode())
            if started_so and (entry / "comm").read_text().startswith("python"):
                return int(entry.name)
    raise AssertionError(f"{mark} does not run")


def is_waiting(event: e.AnyEvent) -> bool:
    return isinstance(event, e.ToolOutput) and "waiting" in event.text


async def test_each_of_twenty_servers_is_killed_during_its_call_and_comes_back(tmp_path: Path) -> None:
    names = [f"s{number:02}" for number in range(20)]
    marks = {name: f"{name}-of-{tmp_path.name}-{os.getpid()}" for name in [*names, "steady"]}
    plant(tmp_path, **{name: {"command": "python3", "args": [SCRIPTED.name, "good", marks[name]]} for name in marks})
    conversations = [
        {
            "match": f"use {name}",
            "steps": [call(f"{name}__pause"), {"text": "ok"}, call(f"{name}__echo", text=name), {"text": "ok"}],
        }
        for name in marks
    ]
    async with house(tmp_path, {"conversations": conversations}) as h, await h.client() as client:
        tested = await ask(client, McpTest, cwd=str(h.workspace))
        assert [server.status for server in tested.servers] == ["up"] * 21
        attachments = {name: await client.attach(await new_session(h, client)) for name in marks}
        for name, attachment in attachments.items():
            await client.send(attachment.session, f"use {name}")
        await asyncio.gather(*(until(attachment, is_waiting) for attachment in attachments.values()))
        steady = process_of(marks["steady"])
        for name in names:
            os.kill(process_of(marks[name]), signal.SIGKILL)
        broken = await asyncio.gather(*(attachments[name].until_turn_ends() for name in names))
        assert {completed.reason for completed, _ in broken} == {"done"}
        for name in names:
            (result,) = await results_of(client, attachments[name].session)
            assert result.is_error
            assert f"{name} ended during the call" in result.text
        (h.workspace / "go").touch()
        completed, _ = await attachments["steady"].until_turn_ends()
        assert completed.reason == "done"
        (result,) = await results_of(client, attachments["steady"].session)
        assert result.text == "waited"
        while any(each.status != "up" for each in (await ask(client, McpTest, cwd=str(h.workspace))).servers):
            await until(attachments["s00"], lambda event: isinstance(event, e.McpServerStatus) and event.status == "up")
        assert process_of(marks["steady"]) == steady
        again = await asyncio.gather(*(turn(client, attachment) for attachment in attachments.values()))
        assert {completed.reason for completed, _ in again} == {"done"}
        for name, attachment in attachments.items():
            assert (await results_of(client, attachment.session))[-1].text == name
