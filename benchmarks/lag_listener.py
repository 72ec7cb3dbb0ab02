"""One connection for each session, in a process of its own; it notes how old each event is when it arrives.

`python -m benchmarks.lag_listener SOCKET SESSION…` prints `ready`, and at the end of all turns the ages in milliseconds
and the seconds it took as JSON. It looks at nothing else of an event, to take
little time from what is measured.
"""

import asyncio
import json
import sys
import time
from typing import cast

import msgspec
import uvloop

from openagent.protocol.codec import frame
from openagent.protocol.version import PROTOCOL_VERSION


class _Head(msgspec.Struct):
    type: str
    at: float = 0.0
    reason: str = ""


_decode = msgspec.json.Decoder(_Head).decode


class _Listener(asyncio.Protocol):
    def __init__(self, session: str, ready: asyncio.Semaphore, lags: list[float]) -> None:
        self._session = session
        self._ready = ready
        self._lags = lags
        self._received = bytearray()
        self._attached = False
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        hello = {"op": "hello", "id": "1", "protocol": PROTOCOL_VERSION, "client": "listener"}
        attach = {"op": "session.attach", "id": "2", "session": self._session, "messages": 0}
        cast("asyncio.Transport", transport).write(b"".join(frame(json.dumps(op).encode()) for op in (hello, attach)))

    def data_received(self, data: bytes) -> None:
        arrived = time.time()
        received = self._received
        received += data
        start = 0
        while len(received) - start >= 4:
            end = start + 4 + int.from_bytes(received[start : start + 4], "big")
            if len(received) < end:
                break
            self._hear(_decode(received[start + 4 : end]), arrived)
            start = end
        del received[:start]

    def _hear(self, event: _Head, arrived: float) -> None:
        if event.type == "reply":
            if self._attached:
                return
            self._attached = True
            self._ready.release()
            return
        self._lags.append(1000 * (arrived - event.at))
        if event.type == "turn.completed":
            self.ended.set_result(event.reason)


async def main(socket: str, sessions: list[str]) -> None:
    ready = asyncio.Semaphore(0)
    lags: list[float] = []
    loop = asyncio.get_running_loop()
    listeners = [
        (await loop.create_unix_connection(lambda s=session: _Listener(s, ready, lags), socket))[1]
        for session in sessions
    ]
    for _ in sessions:
        await ready.acquire()
    print("ready", flush=True)
    began = time.perf_counter()
    reasons = await asyncio.gather(*(listener.ended for listener in listeners))
    if any(reason != "done" for reason in reasons):
        raise RuntimeError(f"turns ended with {set(reasons)}")
    print(json.dumps({"lags": lags, "took": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2:]))
