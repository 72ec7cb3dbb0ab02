"""Socket.IO clients: what they send becomes ops, what they hear are the events of the sessions they connected to."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import msgspec
import socketio  # pyright: ignore[reportMissingTypeStubs]
from msgspec import Struct
from starlette.types import ASGIApp

from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.gateway.request_guard import SOCKET_IO
from openagent.gateway.socketio.telling import Problem, Telling, said
from openagent.protocol.codec import MAX_FRAME, decode_event
from openagent.protocol.conversation import AsksList, MessageSend, PermissionAnswer, TurnCancel
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ConnectionClosing, Reply
from openagent.protocol.metrics import MetricsSubscribe
from openagent.protocol.op import Op
from openagent.protocol.sessions import Attached, SessionAttach, SessionGet
from openagent.protocol.trace_context import new_trace

MAX_UNSENT = 8 * 1024 * 1024
AHEAD = 64
"""So many messages may wait in Socket.IO's own queue, which has no end."""
R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound=Struct)
_log = logging.getLogger(__name__)


class AgentConnect(Struct, frozen=True, rename="camel"):
    agent_id: str


class AgentMessage(AgentConnect, frozen=True, rename="camel"):
    message: str


class AgentInterrupt(AgentConnect, frozen=True, rename="camel"):
    pass


class ToolApprove(AgentConnect, frozen=True, rename="camel"):
    tool_call_id: str
    approved: bool


class MetricsWanted(Struct, frozen=True, rename="camel"):
    agent_ids: list[str] = []
    interval: float = 2000
    """Milliseconds."""


class SocketLine:
    """One client's connection to the daemon, and its events one by one."""

    def __init__(self, daemon: Daemon, caller: Caller) -> None:
        self._bodies: asyncio.Queue[bytes | None] = asyncio.Queue()
        """None: hang up."""
        self.unsent = 0
        self._daemon = daemon
        self.connection = Connection(daemon, self, caller)
        self.connection.name = caller.name
        self.connection.greeted = True
        self.connection.interactive = caller.may("approve")
        self.telling = Telling()
        self.speaking: asyncio.Task[None] | None = None

    def send(self, body: bytes) -> None:
        self.unsent += len(body)
        if self.unsent > MAX_UNSENT:
            self.connection.close()
            self._bodies.put_nowait(None)
        else:
            self._bodies.put_nowait(body)

    def flush(self) -> None:
        """Its reader has been woken."""

    def pause_reading(self) -> None:
        """Its ops are sent one after the other."""

    def resume_reading(self) -> None:
        """See pause_reading."""

    def hang_up(self) -> None:
        self._bodies.put_nowait(None)

    async def perform(self, op: Op[R]) -> R:
        return await self._daemon.perform(self.connection, op)

    async def attach(self, session: str) -> None:
        """Its snapshot comes before its events."""
        await self._daemon.answer(self.connection, SessionAttach(id=new_trace(), session=session, messages=1))

    async def next(self) -> list[Struct] | None:
        """None at the end."""
        body = await self._bodies.get()
        if body is None:
            return None
        self.unsent -= len(body)
        event = decode_event(body)
        if isinstance(event, Reply):
            snapshot = msgspec.convert(event.result, Attached).snapshot
            return self.telling.snapshot(snapshot) if snapshot else []
        if isinstance(event, ConnectionClosing):
            return [Problem("", event.error.message, event.error.recoverable)]
        return self.telling.event(event)


class SocketServer:
    def __init__(self, daemon: Daemon) -> None:
        quiet = _log.getChild("library")
        quiet.setLevel(logging.ERROR)
        self._daemon = daemon
        self._lines: dict[str, SocketLine] = {}
        self.sio: Any = socketio.AsyncServer(
            async_mode="asgi",
            async_handlers=False,
            cors_allowed_origins=[],  # the guard has looked at the origin
            logger=cast("Any", quiet),
            engineio_logger=quiet,
            max_http_buffer_size=MAX_FRAME,
            monitor_clients=False,  # each is pinged anyway, and this task would outlive the daemon
        )
        self.sio.on("connect", self._connect)
        self.sio.on("disconnect", self._disconnect)
        self._on("agent:connect", AgentConnect, self._agent_connect)
        self._on("agent:message", AgentMessage, self._agent_message)
        self._on("agent:interrupt", AgentInterrupt, self._agent_interrupt)
        self._on("tool:approve", ToolApprove, self._tool_approve)
        self._on("metrics:subscribe", MetricsWanted, self._metrics_subscribe)

    async def _connect(self, sid: str, environ: dict[str, Any], auth: object = None) -> None:
        line = self._lines[sid] = SocketLine(self._daemon, environ["asgi.scope"]["state"]["caller"])
        line.speaking = asyncio.create_task(self._speak(sid, line), name=f"socket.io {sid}")

    async def _disconnect(self, sid: str, reason: str = "") -> None:
        line = self._lines.pop(sid, None)
        if line is not None:
            line.connection.close()
            if line.speaking is not None:
                line.speaking.cancel()

    async def _speak(self, sid: str, line: SocketLine) -> None:
        while (told := await line.next()) is not None:
            for name, what in [each for one in told for each in said(one)]:
                await self.sio.emit(name, what, to=sid)
            await self._let_it_catch_up(sid)
        line.speaking = None
        await self.sio.disconnect(sid)

    async def _let_it_catch_up(self, sid: str) -> None:
        engine = self.sio.eio.sockets.get(self.sio.manager.eio_sid_from_sid(sid, "/"))
        if engine is not None and engine.queue.qsize() > AHEAD:
            await engine.queue.join()

    def _on(self, name: str, kind: type[S], handle: Callable[[SocketLine, S], Awaitable[dict[str, Any]]]) -> None:
        async def handler(sid: str, given: object = None) -> dict[str, Any]:
            try:
                wanted = msgspec.convert(given if given is not None else {}, kind)
                return {"ok": True, **await handle(self._lines[sid], wanted)}
            except msgspec.ValidationError as problem:
                error = OpenAgentError("invalid_argument", f"{name} does not fit: {problem}.")
            except OpenAgentError as problem:
                error = problem
            agent = cast("dict[str, Any]", given).get("agentId", "") if isinstance(given, dict) else ""
            for each, what in said(Problem(str(agent), error.info.message, error.info.recoverable)):
                await self.sio.emit(each, what, to=sid)
            return {"ok": False, "error": msgspec.to_builtins(error.info)}

        self.sio.on(name, handler)

    async def _agent_connect(self, line: SocketLine, given: AgentConnect) -> dict[str, Any]:
        info = await line.perform(SessionGet(id=new_trace(), session=given.agent_id))
        await line.attach(info.id)
        return {"agentId": info.id, "name": info.name, "status": info.status}

    async def _agent_message(self, line: SocketLine, given: AgentMessage) -> dict[str, Any]:
        sent = await line.perform(MessageSend(id=new_trace(), session=given.agent_id, text=given.message))
        return {"turn": sent.turn, "queued": sent.queued}

    async def _agent_interrupt(self, line: SocketLine, given: AgentInterrupt) -> dict[str, Any]:
        stopped = await line.perform(TurnCancel(id=new_trace(), session=given.agent_id))
        return {"wasRunning": stopped.was_running}

    async def _tool_approve(self, line: SocketLine, given: ToolApprove) -> dict[str, Any]:
        waiting = await line.perform(AsksList(id=new_trace(), session=given.agent_id))
        for each in waiting.asks:
            if each.permission is not None and each.permission.call_id == given.tool_call_id:
                decision = "allow" if given.approved else "deny"
                answer = PermissionAnswer(id=new_trace(), session=each.session, ask=each.id, decision=decision)
                await line.perform(answer)
                return {}
        raise OpenAgentError("conflict", "No call of that id waits for approval.", hint="It may be answered already.")

    async def _metrics_subscribe(self, line: SocketLine, given: MetricsWanted) -> dict[str, Any]:
        every = given.interval / 1000
        await line.perform(MetricsSubscribe(id=new_trace(), agents=given.agent_ids, every=every))
        return {}


def socket_app(daemon: Daemon) -> ASGIApp:
    return socketio.ASGIApp(SocketServer(daemon).sio, socketio_path=SOCKET_IO)
