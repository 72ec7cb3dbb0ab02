"""A server's answers say where its login is: a server of the public network cannot mean this machine by it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.guarded import guarded_client

from ..servers import patient

pytestmark = pytest.mark.anyio
NAMES = {
    "mcp.example": ["93.184.215.14"],
    "inside.example": ["10.1.2.3"],
    "login.inside.example": ["10.9.9.9"],
    "rebound.example": ["127.0.0.1"],
    "both.example": ["93.184.215.14", "10.0.0.1"],
    "keys.example": ["169.254.169.254"],
}


async def resolve(host: str, port: int) -> list[str]:
    return NAMES.get(host, [host])


@asynccontextmanager
async def listener() -> AsyncGenerator[tuple[int, list[bytes]], None]:
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(patient(hear), "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heard


async def test_a_public_server_sends_nobody_to_this_machine_or_its_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with listener() as (port, heard):
        hosts = ("127.0.0.1", "rebound.example", "both.example", "keys.example", "10.1.2.3", "[::1]", "0.0.0.0")
        for proxied in (False, True):
            if proxied:
                monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
            async with guarded_client("https://mcp.example/mcp", resolve=resolve) as client:
                for host in hosts:
                    with pytest.raises(OpenAgentError, match="sends us to"):
                        await client.get(f"http://{host}:{port}/.well-known/oauth-protected-resource")
        assert not heard


async def test_a_server_nearby_may_name_its_neighbours_and_no_place_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listener() as (port, heard):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")  # stands for the network in between
        async with guarded_client("https://inside.example/mcp", resolve=resolve) as client:
            for host in ("127.0.0.1", "keys.example"):
                with pytest.raises(OpenAgentError, match="sends us to"):
                    await client.get(f"http://{host}/")
            assert not heard
            assert (await client.get("http://login.inside.example/")).text == "hi"
        assert heard[0].startswith(b"GET http://login.inside.example/ ")


async def test_a_server_on_this_machine_may_name_others_here_and_the_name_is_kept() -> None:
    async with listener() as (port, heard), guarded_client("http://127.0.0.1:9/mcp", resolve=resolve) as client:
        assert (await client.get(f"http://rebound.example:{port}/login")).text == "hi"
        assert b"Host: rebound.example" in heard[0]
