"""Clients in a process of their own, one for each session; they note when each chunk reached them.

`python -m benchmarks.listeners SOCKET SESSION…` prints `ready`, and at the end the delays in milliseconds as JSON.
"""

import asyncio
import json
import sys
import time

import uvloop

from openagent.client import connect
from openagent.protocol.events import TextDelta, TurnCompleted


async def _listen(socket: str, session: str, ready: asyncio.Semaphore) -> list[float]:
    delays: list[float] = []
    async with await connect(socket=socket, auto_start=False, env={}, name="listener") as client:
        attachment = await client.attach(session, messages=0)
        ready.release()
        async for event in attachment.events():
            if isinstance(event, TextDelta):
                arrived = time.monotonic_ns()
                delays += [(arrived - int(left)) / 1e6 for left in event.text.split()]
            elif isinstance(event, TurnCompleted):
                break
    return delays


async def main(socket: str, sessions: list[str]) -> None:
    ready = asyncio.Semaphore(0)
    listening = [asyncio.create_task(_listen(socket, session, ready)) for session in sessions]
    for _ in sessions:
        await ready.acquire()
    print("ready", flush=True)
    print(json.dumps([delay for delays in await asyncio.gather(*listening) for delay in delays]), flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2:]))
