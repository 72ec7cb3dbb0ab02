"""The async client: requests, and attachments that survive a lost connection."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from openagent.client import elsewhere
from openagent.client.launch import DaemonDidNotStart, bring_up
from openagent.client.transport import Transport, UnixTransport, WebSocketTransport
from openagent.protocol import locations
from openagent.protocol.codec import decode_event, encode_op
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, ConnectionClosing, Event, Failed, Reply, SessionDeleted, TurnCompleted
from openagent.protocol.ops import (
    RESULTS,
    Attached,
    Done,
    Hello,
    MessageSend,
    Op,
    PermissionAnswer,
    Sent,
    SessionAttach,
    SessionCreate,
    SessionDetach,
    TurnCancel,
    Welcome,
)
from openagent.protocol.sessions import SessionInfo, SettingsChange, Snapshot
from openagent.protocol.version import PROTOCOL_VERSION

R = TypeVar("R", bound=Struct)
Opener = Callable[[], Awaitable[Transport]]


class ConnectionLost(OpenAgentError):
    def __init__(self, reason: str = "") -> None:
        super().__init__("shutting_down", reason or "The connection to the daemon was lost.", hint="Connect again.")


class Client:
    """One connection to a daemon. Use `connect()` to make one."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._prefix = os.urandom(4).hex()
        self._count = 0
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._listeners: dict[str, set[asyncio.Queue[AnyEvent | None]]] = {}
        self._everything: set[asyncio.Queue[AnyEvent | None]] = set()
        self._closing_reason = ""
        self._reader = asyncio.create_task(self._read())
        self.welcome: Welcome | None = None

    async def greet(self, name: str, *, interactive: bool, env: Mapping[str, str]) -> Welcome:
        hello = Hello(id=self.next_id(), protocol=PROTOCOL_VERSION, client=name, interactive=interactive, env=dict(env))
        self.welcome = await self.request(hello, Welcome)
        return self.welcome

    def next_id(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    async def request(self, op: Op, kind: type[R]) -> R:
        """Send an op and wait for its reply. Raises OpenAgentError when it is refused."""
        assert RESULTS[type(op)] is kind
        if self._reader.done():
            raise ConnectionLost(self._closing_reason)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[op.id] = future
        try:
            await self._transport.send(encode_op(op))
            return msgspec.convert(await future, kind)
        except (ConnectionError, BrokenPipeError):
            raise ConnectionLost(self._closing_reason) from None
        finally:
            self._waiting.pop(op.id, None)

    async def create_session(self, cwd: str, *, name: str = "", session: str = "", **settings: Any) -> SessionInfo:
        change = msgspec.convert(settings, SettingsChange)
        op = SessionCreate(id=self.next_id(), cwd=cwd, name=name, session=session, settings=change)
        return await self.request(op, SessionInfo)

    async def send(self, session: str, text: str) -> Sent:
        return await self.request(MessageSend(id=self.next_id(), session=session, text=text), Sent)

    async def cancel(self, session: str) -> bool:
        from openagent.protocol.ops import Cancelled

        return (await self.request(TurnCancel(id=self.next_id(), session=session), Cancelled)).was_running

    async def answer_permission(self, session: str, ask: str, *, allow: bool, scope: str = "once") -> None:
        op = PermissionAnswer(
            id=self.next_id(),
            session=session,
            ask=ask,
            decision="allow" if allow else "deny",
            scope=cast(Any, scope),
        )
        await self.request(op, Done)

    async def attach(self, session: str, *, after: int | None = None, messages: int = 50) -> "Attachment":
        queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        listeners = self._listeners.setdefault(session, set())
        listeners.add(queue)
        try:
            op = SessionAttach(id=self.next_id(), session=session, after=after, messages=messages)
            attached = await self.request(op, Attached)
        except BaseException:
            listeners.discard(queue)
            raise
        if attached.session != session:
            listeners.discard(queue)
            self._listeners.setdefault(attached.session, set()).add(queue)
        return Attachment(self, attached, after or 0, queue)

    async def detach(self, attachment: "Attachment") -> None:
        listeners = self._listeners.get(attachment.session, set())
        listeners.discard(attachment.queue)
        if not listeners and not self._reader.done():
            await self.request(SessionDetach(id=self.next_id(), session=attachment.session), Done)

    @asynccontextmanager
    async def all_events(self) -> AsyncGenerator["asyncio.Queue[AnyEvent | None]", None]:
        """Every event this connection receives; None when it is lost."""
        queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        self._everything.add(queue)
        try:
            yield queue
        finally:
            self._everything.discard(queue)

    async def close(self) -> None:
        await self._transport.close()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _read(self) -> None:
        try:
            while (body := await self._transport.receive()) is not None:
                self._dispatch(decode_event(body))
        finally:
            lost = ConnectionLost(self._closing_reason)
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(lost)
            for queue in (*self._everything, *(q for queues in self._listeners.values() for q in queues)):
                queue.put_nowait(None)

    def _dispatch(self, event: AnyEvent) -> None:
        if isinstance(event, Reply | Failed):
            future = self._waiting.get(event.op_id)
            if future is not None and not future.done():
                if isinstance(event, Reply):
                    future.set_result(event.result)
                else:
                    error = event.error
                    future.set_exception(
                        OpenAgentError(error.code, error.message, hint=error.hint, recoverable=error.recoverable)
                    )
            return
        if isinstance(event, ConnectionClosing):
            self._closing_reason = str(event.error.message)
        for queue in self._listeners.get(event.session, ()):
            queue.put_nowait(event)
        for queue in self._everything:
            queue.put_nowait(event)


class Attachment:
    """A session, followed live. `events()` yields each durable event once, in order, and deltas as they come."""

    def __init__(self, client: Client, attached: Attached, after: int, queue: "asyncio.Queue[AnyEvent | None]") -> None:
        self.client = client
        self.session = attached.session
        self.snapshot: Snapshot | None = attached.snapshot
        self.queue = queue
        self.seq = attached.seq if attached.snapshot else after
        """The newest durable event seen: what to give as `after` on the next attach."""

    async def events(self) -> AsyncGenerator[AnyEvent, None]:
        """Ends when the connection is lost or the session is deleted."""
        while (event := await self.queue.get()) is not None:
            if type(event).durable:
                if event.seq <= self.seq:
                    continue
                self.seq = event.seq
            yield event
            if isinstance(event, SessionDeleted):
                return

    async def until_turn_ends(self) -> tuple[TurnCompleted, list[Event]]:
        seen: list[Event] = []
        async for event in self.events():
            seen.append(event)
            if isinstance(event, TurnCompleted):
                return event, seen
        raise ConnectionLost

    async def detach(self) -> None:
        await self.client.detach(self)


async def connect(
    *,
    url: str = "",
    token: str = "",
    socket: str = "",
    transport: Transport | None = None,
    name: str = "python",
    interactive: bool = False,
    auto_start: bool = True,
    env: Mapping[str, str] = os.environ,
) -> Client:
    """Connect to the local daemon, starting it if need be, or to the one behind a WebSocket URL.

    `OPENAGENT_CONNECT` and `OPENAGENT_TOKEN` of `env` count where neither URL nor socket are named.
    """
    if transport is None:
        if url := url or ("" if socket else elsewhere.wanted(env)):
            transport = await WebSocketTransport.open(
                elsewhere.web_socket_url(url), token or elsewhere.token_for(url, env)
            )
            env = {}  # keys from here are for the daemon of this machine, not for whoever answers elsewhere
        else:
            transport = await _open_local(socket or locations.socket_path(env), auto_start)
    client = Client(transport)
    try:
        passed_on = {key: env[key] for key in locations.FORWARDED_ENV if key in env}
        await client.greet(name, interactive=interactive, env=passed_on)
    except BaseException:
        await client.close()
        raise
    return client


async def _open_local(path: str, auto_start: bool) -> Transport:
    try:
        return await UnixTransport.open(path)
    except (FileNotFoundError, ConnectionRefusedError):
        if not auto_start:
            raise OpenAgentError(
                "not_found", "No daemon is running.", hint="Start one with `openagent serve --daemon`."
            ) from None
    try:
        await asyncio.to_thread(bring_up, path)
    except DaemonDidNotStart as problem:
        raise OpenAgentError("config_error", str(problem)) from None
    return await UnixTransport.open(path)
