"""Events as server-sent events: a turn, a session, the whole daemon.

A client that goes away loses nothing and stops nothing. One that does not keep up is cut off.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec
from msgspec import Struct
from starlette.responses import StreamingResponse

from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.gateway.rest.in_full import encode_full
from openagent.protocol.codec import decode_event
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.events import Reply
from openagent.protocol.op import Op

MOST_UNSENT = 8 * 1024 * 1024
KEEP_ALIVE = 15.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Head(Struct, frozen=True):
    """What of an event is looked at here."""

    type: str
    seq: int = 0
    op_id: str = ""
    turn: int = 0


_head = msgspec.json.Decoder(Head)
_TOO_SLOW = msgspec.json.encode(
    {
        "type": "connection.closing",
        "error": ErrorInfo(
            "slow_client",
            "This client did not keep up and was cut off.",
            hint="Connect again with `Last-Event-ID`; nothing is lost.",
        ),
    }
)


class EventLine:
    """A connection whose events are read one by one."""

    def __init__(self, daemon: Daemon, caller: Caller, *, interactive: bool) -> None:
        self._bodies: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._unsent = 0
        self._asked: type[Struct] | None = None
        """What the op is answered with that was asked last."""
        self._daemon = daemon
        self.connection = Connection(daemon, self, caller)
        self.connection.name = caller.name
        self.connection.greeted = True
        self.connection.interactive = interactive and caller.may("approve")

    @property
    def unsent(self) -> int:
        return self._unsent

    def send(self, body: bytes) -> None:
        self._unsent += len(body)
        if self._unsent > MOST_UNSENT:
            self.connection.close()
            while not self._bodies.empty():
                self._bodies.get_nowait()
            self._bodies.put_nowait(_TOO_SLOW)
            self._bodies.put_nowait(None)
        else:
            self._bodies.put_nowait(body)

    def flush(self) -> None:
        """Its reader has been woken."""

    def pause_reading(self) -> None:
        """Nothing is read."""

    def resume_reading(self) -> None:
        """See pause_reading."""

    def hang_up(self) -> None:
        self._bodies.put_nowait(None)

    def in_full(self, body: bytes) -> bytes:
        """An event with what it leaves out because it is so by default."""
        event = decode_event(body)
        if isinstance(event, Reply) and self._asked is not None:
            event = msgspec.structs.replace(event, result=msgspec.convert(event.result, self._asked))
        return encode_full(event)

    async def ask(self, op: Op) -> None:
        """Its reply is the next event, unless it is refused: that is raised."""
        self._asked = type(op).result()
        await self._daemon.answer(self.connection, op)

    async def next(self) -> bytes | None:
        """None at the end."""
        body = await self._bodies.get()
        self._unsent -= len(body or b"")
        return body

    def rest(self) -> list[bytes]:
        """What has come and was not read yet."""
        return [body for body in iter(self._next_now, None) if body]

    def _next_now(self) -> bytes | None:
        return None if self._bodies.empty() else self._bodies.get_nowait() or b""

    def close(self) -> None:
        self.connection.close()


def event_stream(
    line: EventLine,
    is_last: Callable[[Head], bool],
    *,
    begins_with: tuple[str, bytes] | None = None,
    only: Callable[[Head], bool] = lambda _: True,
) -> StreamingResponse:
    """`begins_with`: the name and body of an event before all others."""
    first = b"event: %s\ndata: %s\n\n" % (begins_with[0].encode(), begins_with[1]) if begins_with else b""
    return StreamingResponse(_events(line, is_last, first, only), media_type="text/event-stream", headers=_HEADERS)


async def _events(
    line: EventLine, is_last: Callable[[Head], bool], first: bytes, only: Callable[[Head], bool]
) -> AsyncGenerator[bytes, None]:
    try:
        if first:
            yield first
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE):
                    body = await line.next()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if body is None:
                return
            head = _head.decode(body)
            if not only(head):
                continue
            number = b"id: %d\n" % head.seq if head.seq else b""
            yield b"%sevent: %s\ndata: %s\n\n" % (number, head.type.encode(), line.in_full(body))
            if is_last(head):
                return
    finally:
        line.close()


class TurnEnd:
    """Recognises the end of the turn that an op began, also when its message waited for another turn to end."""

    def __init__(self, op: Op, turn: int) -> None:
        self._op = op.id
        self._turn = turn

    def __call__(self, head: Head) -> bool:
        if head.type == "turn.started" and head.op_id == self._op:
            self._turn = head.turn
        return (head.type == "turn.completed" and head.turn == self._turn != 0) or head.type in _ENDINGS


_ENDINGS = ("session.deleted", "connection.closing")


def never(head: Head) -> bool:
    return head.type in _ENDINGS
