"""The network of a jail that may reach some hosts: those, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.egress_proxy import HostRule
from tests.jail.conftest import needs_bwrap

from ..servers import patient

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("rule", "host", "port", "allowed"),
    [
        ("api.example.com", "api.example.com", 443, True),
        ("api.example.com", "api.example.com", 80, True),
        ("api.example.com", "api.example.com", 22, False),
        ("api.example.com:22", "api.example.com", 22, True),
        ("api.example.com:22", "api.example.com", 443, False),
        ("api.example.com", "evil-api.example.com", 443, False),
        ("api.example.com", "api.example.com.evil.net", 443, False),
        ("*.example.com", "deep.api.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "badexample.com", 443, False),
        ("API.Example.com", "api.example.com", 443, True),
    ],
)
def test_a_rule_names_a_host_or_what_is_below_it_at_the_webs_ports(rule: str, host: str, port: int, allowed: bool):
    assert HostRule.parse(rule).matches(host, port) is allowed


@pytest.fixture
async def served_port() -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = head.split(b"\r\n")[0] + b" " + b"x" * 100_000
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(patient(answer), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


def fetch(url: str) -> str:
    return f"python3 -c \"import urllib.request as u; print(u.urlopen('{url}', timeout=60).read()[:10].decode())\""


def tunnel_to(host: str, port: int) -> str:
    return (
        "python3 -c \"import http.client as h; c=h.HTTPConnection('127.0.0.1',3128,timeout=60); "
        f"c.set_tunnel('{host}',{port}); c.request('GET','/tunnelled'); print(c.getresponse().read()[:14].decode())\""
    )


@needs_bwrap
async def test_a_listed_host_is_reached_plainly_and_through_a_tunnel_and_no_other_is(workspace: Path, served_port: int):
    shell = await BwrapJail(network=[f"127.0.0.1:{served_port}", "localhost"]).open("session", workspace)
    plain = await shell.run(fetch(f"http://127.0.0.1:{served_port}/plain"), timeout=30)
    tunnel = await shell.run(tunnel_to("127.0.0.1", served_port), timeout=30)
    wrong_port = await shell.run(fetch("http://localhost:1/"), timeout=30)
    other = await shell.run(tunnel_to("example.com", 443), timeout=30)
    past_it = await shell.run(
        f"env -u http_proxy -u HTTP_PROXY {fetch(f'http://127.0.0.1:{served_port}/')}", timeout=30
    )
    await shell.close()
    assert plain.stdout == "GET /plain\n"
    assert tunnel.stdout == "GET /tunnelled\n"
    assert "403" in wrong_port.stderr
    assert "403" in other.stderr
    assert "Connection refused" in past_it.stderr


@needs_bwrap
async def test_a_name_that_leads_to_this_machine_is_refused(workspace: Path, served_port: int):
    async def to_loopback(*_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        return [(2, 1, 6, "", ("127.0.0.1", served_port))]

    asyncio.get_running_loop().getaddrinfo = to_loopback  # pyright: ignore[reportAttributeAccessIssue]
    shell = await BwrapJail(network=[f"rebound.example:{served_port}"]).open("session", workspace)
    result = await shell.run(fetch(f"http://rebound.example:{served_port}/"), timeout=30)
    await shell.close()
    assert "403" in result.stderr
    assert "GET" not in result.stdout
