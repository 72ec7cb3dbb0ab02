"""`openagent rpc`: JSON-RPC 2.0 on stdin and stdout over a client of the daemon. A composition root."""

import asyncio
import os
import sys
import threading
from contextlib import suppress

from openagent.client import Client, ConnectionLost, connect
from openagent.gateway.jsonrpc import Bridge
from openagent.gateway.jsonrpc_wire import Lines, Peer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ConnectionClosing

_CHUNK = 65536
_CHUNKS_WAITING = 16


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
        peer = Peer(bridge.methods, _write)
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
    chunks = _start_reading()
    lines = Lines()
    while data := await chunks.get():
        for line in lines.feed(data):
            await _take(peer, line)
    for line in lines.end():
        await _take(peer, line)
    bridge.input_ended()
    await peer.finish()


async def _take(peer: Peer, line: bytes | None) -> None:
    if line is None or line.strip():
        await peer.receive(line)


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


def _start_reading() -> "asyncio.Queue[bytes]":
    """On a thread, since stdin may be a file, which no event loop can wait for. Empty bytes stand for the end."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue(_CHUNKS_WAITING)

    def read() -> None:
        data = b"-"
        with suppress(RuntimeError):  # the loop has ended before the input
            while data:
                try:
                    data = os.read(0, _CHUNK)
                except OSError:
                    data = b""
                asyncio.run_coroutine_threadsafe(chunks.put(data), loop).result()

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return chunks


def _write(message: bytes) -> None:
    while message:
        message = message[os.write(1, message) :]
