"""`openagent rpc`: JSON-RPC 2.0 on stdin and stdout over a client of the daemon. A composition root."""

import asyncio
import os
import sys

from openagent.client import Client, ConnectionLost, connect
from openagent.gateway.jsonrpc import Bridge
from openagent.gateway.jsonrpc_wire import Peer
from openagent.gateway.stdio import input_lines, write_output
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ConnectionClosing


def main(arguments: list[str]) -> int:
    if arguments:
        sys.stderr.write("openagent: `openagent rpc` takes no arguments. See `openagent rpc --help`.\n")
        return 2
    try:
        return asyncio.run(_serve())
    except OpenAgentError as problem:
        sys.stderr.write(f"openagent: {problem}\n")
        return 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130


async def _serve() -> int:
    async with await connect(name="rpc", interactive=True) as client:
        bridge = Bridge(client, os.getcwd())
        peer = Peer(bridge.methods, write_output)
        reading = asyncio.create_task(_read(peer, bridge))
        following = asyncio.create_task(_follow(client, peer, bridge))
        await asyncio.wait([reading, following], return_when=asyncio.FIRST_COMPLETED)
        lost = following.done()
        for task in (following, reading):
            if task.done():
                task.result()
            task.cancel()
        await asyncio.gather(reading, following, return_exceptions=True)
        return int(lost)


async def _read(peer: Peer, bridge: Bridge) -> None:
    """Returns when the input has ended and everything asked for has been answered."""
    async for line in input_lines():
        await peer.receive(line)
    bridge.input_ended()
    await peer.finish()


async def _follow(client: Client, peer: Peer, bridge: Bridge) -> None:
    """Returns when the daemon has gone and everybody who waited for it has been told."""
    lost: OpenAgentError = ConnectionLost()
    async with client.all_events() as events:
        while (event := await events.get()) is not None:
            bridge.show(event, peer.notify)
            if isinstance(event, ConnectionClosing):
                lost = OpenAgentError(event.error.code, event.error.message, hint=event.error.hint)
    bridge.connection_lost(lost, peer.notify)
    await peer.finish()
