"""One client: who it is, and its ops, taken in the order they came."""

import asyncio
import logging
import time
from collections import deque
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import msgspec

from openagent.daemon.callers import OWNER, Caller
from openagent.plugins.tenant import Tenant
from openagent.protocol.codec import encode_event
from openagent.protocol.daemon import Hello
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import Event, Failed, Reply, ToolFinished, ToolOutput
from openagent.protocol.op import Op
from openagent.protocol.sessions import Mode

if TYPE_CHECKING:
    from openagent.daemon.daemon import Daemon

MAX_WAITING_OPS = 256
BEHIND = 1024 * 1024
"""Unsent bytes from which on a client is spared the output of commands, so that it can catch up with the rest."""
trace_id: ContextVar[str] = ContextVar("trace_id", default="")
"""The op that everything logged from here on was done for."""
called_from: ContextVar[str] = ContextVar("called_from", default="")
"""The `traceparent` of the HTTP request that ops are made for, where it had one."""
GAP = "\n[… output left out: this client did not keep up …]\n"
_log = logging.getLogger(__name__)


class Line(Protocol):
    """What a gateway gives a connection to speak through."""

    @property
    def unsent(self) -> int:
        """Bytes that wait for the client to take them."""
        ...

    def send(self, body: bytes) -> None: ...

    def flush(self) -> None:
        """What was sent leaves with this turn of the event loop at the latest."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def hang_up(self) -> None:
        """End it from this side, after what was sent."""
        ...


class Connection:
    def __init__(self, daemon: "Daemon", line: Line, caller: Caller = OWNER) -> None:
        self._daemon = daemon
        self.line = self._line = line
        self.caller = caller
        self.name = "client"
        self.interactive = False
        self.greeted = False
        self.env: dict[str, str] = {}
        self.hears_of: set[str] = set()
        """Sessions of which it is told something without following them: their terminals."""
        self._waiting: deque[Op] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._closed = False
        self._left_out: dict[str, ToolOutput] = {}
        """By call: what was last left out of its output."""
        daemon.came(self)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def waiting(self) -> int:
        """Ops that were sent and not begun with."""
        return len(self._waiting)

    @property
    def unsent(self) -> int:
        """Bytes that it has yet to take."""
        return self._line.unsent

    async def within(self) -> Tenant | None:
        """Whose sessions this client is told of; None: everybody's."""
        return await self._daemon.within(self.caller)

    async def is_welcome(self) -> bool:
        """They would still be let in as they were."""
        ends = self.caller.expires_at
        return (ends is None or ends > time.time()) and await self._daemon.is_welcome(self.caller)

    def most(self, workspace: Path) -> Mode:
        """The widest mode in which this client may have something done there."""
        return self._daemon.most(self.caller, workspace)

    def send(self, body: bytes) -> None:
        if not self._closed:
            self._line.send(body)

    def flush(self) -> None:
        self._line.flush()

    def hear(self, event: Event, body: bytes) -> None:
        if isinstance(event, ToolOutput):
            if self._line.unsent > BEHIND:
                self._left_out[event.call_id] = event
                return
            self._mark_gap(event.call_id)
        elif isinstance(event, ToolFinished):
            self._mark_gap(event.call_id)
        self.send(body)

    def _mark_gap(self, call_id: str) -> None:
        if self._left_out and (missing := self._left_out.pop(call_id, None)):
            self.tell(msgspec.structs.replace(missing, stream="progress", text=GAP))

    def tell(self, event: Event) -> None:
        self.send(encode_event(event))

    def receive(self, op: Op) -> None:
        self._waiting.append(op)
        if len(self._waiting) == MAX_WAITING_OPS:
            self._line.pause_reading()
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())

    def refuse(self, error: OpenAgentError, op_id: str = "") -> None:
        self.tell(Failed(op_id=op_id, at=time.time(), error=error.info))

    async def _work(self) -> None:
        while self._waiting:
            op = self._waiting.popleft()
            if len(self._waiting) == MAX_WAITING_OPS // 2:
                self._line.resume_reading()
            trace_id.set(op.id)
            if type(op).waits:
                self._answer_beside(op)
            else:
                await self._answer(op)
        self._worker = None

    def _answer_beside(self, op: Op) -> None:
        """It may wait for something, such as a permission, that comes over this same connection."""
        answering = asyncio.create_task(self._answer(op))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)

    async def _answer(self, op: Op) -> None:
        try:
            if not self.greeted and not isinstance(op, Hello):
                raise OpenAgentError("unauthorized", "The first op of a connection must be hello.")
            await self._daemon.answer(self, op)
        except OpenAgentError as problem:
            self.refuse(problem, op.id)
        except Exception as problem:  # the supervisor: a defect fails one op and nothing else
            ticket = uuid4().hex[:8]
            _log.exception("op raised an unexpected error", extra={"op": type(op).__name__, "ticket": ticket})
            message = f"The daemon hit a defect ({type(problem).__name__}); its log has the details under {ticket}."
            self.tell(Failed(op_id=op.id, at=time.time(), error=ErrorInfo("internal", message)))

    def reply(self, op: Op, result: object) -> None:
        self.tell(Reply(op_id=op.id, at=time.time(), result=result))

    def hang_up(self) -> None:
        """End it from our side: nothing more is heard or said."""
        self._waiting.clear()
        self.close()
        self._line.hang_up()

    def close(self) -> None:
        """The client has gone. Ops it already sent are still carried out."""
        self._closed = True
        self._daemon.forget(self)
