"""A client in the daemon's own process: the same ops and events, without a socket."""

import asyncio

from openagent.daemon.callers import OWNER
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.protocol.codec import UndecodableOp, decode_op


class InProcessLine:
    """Has the shape of a client transport: `send` an op's bytes, `receive` an event's bytes."""

    def __init__(self, daemon: Daemon) -> None:
        self._bodies: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._connection = Connection(daemon, _Receiver(self._bodies), OWNER.at("the daemon itself"))

    async def send(self, body: bytes) -> None:
        try:
            self._connection.receive(decode_op(body))
        except UndecodableOp as problem:
            self._connection.refuse(problem, problem.op_id)

    async def receive(self) -> bytes | None:
        """None when the line is closed."""
        return await self._bodies.get()

    async def close(self) -> None:
        self._connection.close()
        self._bodies.put_nowait(None)


class _Receiver:
    unsent = 0
    """It is in the reader's hands at once."""

    def __init__(self, bodies: "asyncio.Queue[bytes | None]") -> None:
        self._bodies = bodies

    def send(self, body: bytes) -> None:
        self._bodies.put_nowait(body)

    def flush(self) -> None:
        """It is there already."""

    def pause_reading(self) -> None:
        """Nothing to pause: the sender shares our event loop."""

    def resume_reading(self) -> None:
        """See pause_reading."""

    def hang_up(self) -> None:
        self._bodies.put_nowait(None)
