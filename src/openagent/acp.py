"""`openagent acp`: the Agent Client Protocol on stdin and stdout over a client of the daemon. A composition root."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from openagent.client.bridge_connection import BridgeConnection
from openagent.gateway.acp.agent import Agent, number_of
from openagent.gateway.jsonrpc_wire import Peer
from openagent.gateway.stdio import input_lines, write_output


def main(arguments: list[str]) -> int:
    if arguments:
        sys.stderr.write("openagent: `openagent acp` takes no arguments. See `openagent acp --help`.\n")
        return 2
    try:
        asyncio.run(serve(input_lines(), _write))
    except KeyboardInterrupt:
        return 130
    return 0


async def serve(messages: AsyncIterator[bytes | None], write: Callable[[bytes], None]) -> None:
    """Until the editor has no more to say."""
    line = BridgeConnection()
    agent = line.follower = Agent(line)
    peer = Peer(agent.methods, write, number_of)
    agent.meet(peer)
    try:
        async for message in messages:
            await peer.receive(message)
    finally:
        await agent.leave()
        await line.close()


def _write(message: bytes) -> None:
    with suppress(BrokenPipeError):  # the editor has gone; the end of its input says so too
        write_output(message)
