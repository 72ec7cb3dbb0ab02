"""`openagent mcp serve`: sessions as MCP tools on stdin and stdout, over a client of the daemon. A composition root."""

import asyncio
import sys

from openagent.client.bridge_connection import BridgeConnection
from openagent.gateway.mcp.server import build
from openagent.gateway.mcp.sessions import Sessions


def main(arguments: list[str]) -> int:
    if arguments:
        sys.stderr.write("openagent: `openagent mcp serve` takes no arguments. See `openagent mcp serve --help`.\n")
        return 2
    try:
        asyncio.run(_serve())
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve() -> None:
    line = BridgeConnection()
    sessions = line.follower = Sessions(line)
    try:
        await build(sessions).run_stdio_async()
    finally:
        await line.close()
