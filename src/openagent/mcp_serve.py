"""`openagent mcp serve`: sessions as MCP tools on stdin and stdout, or over HTTP. A composition root."""

import argparse
import asyncio
import os
import secrets
import sys

from openagent.client.bridge_connection import BridgeConnection
from openagent.gateway.mcp.server import SessionServer, build
from openagent.gateway.mcp.sessions import Sessions

TOKEN = "OPENAGENT_MCP_TOKEN"  # noqa: S105
_PORT = 7373
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="openagent mcp serve", add_help=False)
    parser.add_argument("--http", nargs="?", const=str(_PORT), metavar="[HOST:]PORT")
    try:
        given = parser.parse_args(arguments)
        host, port = _address(given.http) if given.http else ("", 0)
    except SystemExit:
        return 2
    except ValueError as problem:
        sys.stderr.write(f"openagent: {problem} See `openagent mcp serve --help`.\n")
        return 2
    try:
        asyncio.run(_serve(host, port))
    except KeyboardInterrupt:
        return 130
    return 0


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or _LOOPBACK[0]
    if host not in _LOOPBACK:
        raise ValueError(f"{host} is not this machine: --http serves on 127.0.0.1, localhost or ::1 alone.")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{port!r} is no port.")
    return host, int(port)


async def _serve(host: str, port: int) -> None:
    line = BridgeConnection()
    sessions = line.follower = Sessions(line)
    server = build(sessions)
    try:
        await (_over_http(server, host, port) if port else server.run_stdio_async())
    finally:
        server.watching.close()
        await line.close()


async def _over_http(server: SessionServer, host: str, port: int) -> None:
    from openagent.gateway.mcp.http import serve_http  # brings a web server along, which stdin and stdout do not need

    given = os.environ.get(TOKEN, "")
    token = given or secrets.token_urlsafe(32)

    def ready(address: str) -> None:
        told = f"the one in {TOKEN}" if given else token
        sys.stderr.write(f"Sessions are offered at {address}\nAuthorization: Bearer {told}\n")
        sys.stderr.flush()

    await serve_http(server, host, port, token, ready)
