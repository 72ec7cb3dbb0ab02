"""Connections that say little and stay: the owner gets in all the same."""

import asyncio
import json
import resource
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.gateway import http_timeouts
from openagent.gateway.crowd import Crowd

from ..cli.machine import Machine
from ..interaction.house import House, house
from ..rest.calling import rest, token_with

pytestmark = pytest.mark.anyio
HALF_A_HEAD = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
)


@contextmanager
def few_descriptors(machine: Machine, number: int) -> Generator[str, None, None]:
    """A daemon that may have so many, and the address of its web."""
    limited = f"ulimit -n {number} && exec {sys.executable} -m openagent serve --daemon --web-socket 0"
    subprocess.run(["bash", "-c", limited], env=machine.env, cwd=machine.workspace, capture_output=True, check=True)
    try:
        yield machine.json("status")["web_url"]
    finally:
        assert machine.run("stop").returncode == 0


def test_four_hundred_half_open_connections_lock_nobody_out(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1024 <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    with ThreadedSimulator([{"text": "Hello."}]) as sim, ExitStack() as stack:
        machine = Machine(tmp_path, sim)
        url = stack.enter_context(few_descriptors(machine, 256))
        place = urlsplit(url)
        for number in range(400):
            line = stack.enter_context(socket.create_connection((place.hostname, place.port)))
            line.send((b"", HALF_A_HEAD, HALF_A_BODY)[number % 3])
        token = (machine.home / "token").read_text()
        request = urllib.request.Request(f"{url}/api/status", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert json.load(answer)["pid"] == machine.json("status")["pid"]
        assert machine.turn("go", script=[{"text": "Hello."}])


async def to_the_end(h: House, said: bytes) -> bytes:
    place = urlsplit(h.daemon.place.web_url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(said)
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()


async def test_a_head_or_a_body_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_timeouts, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(http_timeouts, "BODY_SECONDS", 0.1)
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        assert (await owner("GET", "/api/me")).status_code == 200
        assert b" 408 " in await to_the_end(h, b"")
        assert b" 408 " in await to_the_end(h, HALF_A_HEAD)
        assert await to_the_end(h, HALF_A_BODY) == b""
        refused = HALF_A_BODY.replace(b"/api/login", b"/api/agents")
        assert b" 401 " in await to_the_end(h, refused)
        async with owner.client.stream("GET", "/api/events") as events:  # one that has been asked for stays
            assert events.status_code == 200
            assert b" 408 " in await to_the_end(h, HALF_A_HEAD)  # by then it would have been given up, too
            made = asyncio.create_task(owner.agent())
            async for line in events.aiter_lines():
                if "session.created" in line:
                    break
            await made


async def test_a_token_cannot_take_all_connections(tmp_path: Path) -> None:
    class Line:
        gone = False

        def abort(self) -> None:
            self.gone = True

    crowd, everyone = Crowd(64), dict[tuple[str, int], Line]()

    def come(address: str, port: int, caller: str = "") -> Line:
        everyone[address, port] = line = Line()
        crowd.enter((address, port), line)
        if caller:
            crowd.known((address, port), caller)
        return line

    owners = [come("10.0.0.1", port, "owner") for port in range(40)]
    for port in range(100):
        come("10.0.0.2", port, "token")
    strangers = [come(f"10.1.0.{number}", 1) for number in range(100)]
    assert not any(line.gone for line in owners)
    late = come("10.0.0.1", 1000, "owner")
    assert not late.gone
    assert sum(not line.gone for line in strangers) <= 16
    assert sum(not line.gone for line in everyone.values()) <= 64


async def test_a_connection_that_showed_a_token_is_not_taken_for_a_strangers(tmp_path: Path) -> None:
    async with (
        house(tmp_path, [], web=True) as h,
        rest(h, await token_with(h, "read")) as reader,
        reader.client.stream("GET", "/api/events") as events,
        rest(h) as owner,
    ):
        place = urlsplit(h.daemon.place.web_url)
        with ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(socket.create_connection((place.hostname, place.port)))
            made = asyncio.create_task(owner.agent())
            async for line in events.aiter_lines():
                if "session.created" in line:
                    break
            await made
