"""The async client: requests, and attachments. One that did not keep up and was cut off comes back by itself; what
was only shown live meanwhile, such as the output of a command, is missing then, and nothing else."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from openagent.client import elsewhere
from openagent.client.launch import DaemonDidNotStart, bring_up
from openagent.client.own_trace import own
from openagent.client.transport import Transport, UnixTransport, WebSocketTransport
from openagent.protocol import locations
from openagent.protocol.codec import decode_event, encode_op
from openagent.protocol.conversation import MessageSend, PermissionAnswer, QuestionAnswer, Sent, TurnCancel
from openagent.protocol.daemon import DaemonFollow, Hello, Welcome
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import (
    AnyEvent,
    ConnectionClosing,
    Event,
    Failed,
    QuestionAsked,
    Reply,
    SessionDeleted,
    TurnCompleted,
)
from openagent.protocol.op import Op
from openagent.protocol.sessions import (
    Attached,
    Question,
    SessionAttach,
    SessionCreate,
    SessionDetach,
    SessionInfo,
    SettingsChange,
    Snapshot,
)
from openagent.protocol.version import PROTOCOL_VERSION

R = TypeVar("R", bound=Struct)
Opener = Callable[[], Awaitable[Transport]]


class ConnectionLost(OpenAgentError):
    def __init__(self, reason: str = "") -> None:
        super().__init__("shutting_down", reason or "The connection to the daemon was lost.", hint="Connect again.")


class Client:
    """One connection to a daemon. Use `connect()` to make one."""

    def __init__(self, transport: Transport, reopen: Opener | None = None) -> None:
        """`reopen` connects to the same daemon once more."""
        self._transport = transport
        self._reopen = reopen
        self._hello: Hello | None = None
        self._follows = False
        self._seqs: dict[str, int] = {}
        """Of each attached session: the newest durable event received."""
        self._coming_back: asyncio.Task[None] | None = None
        self._prefix = own.given + os.urandom(4).hex()
        self._count = 0
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._listeners: dict[str, set[asyncio.Queue[AnyEvent | None]]] = {}
        self._attaching: dict[str, asyncio.Queue[AnyEvent | None]] = {}
        """By the op that asks for it."""
        self._everything: set[asyncio.Queue[AnyEvent | None]] = set()
        self._closing_reason = ""
        self._reader = asyncio.create_task(self._read())
        self.welcome: Welcome | None = None

    async def greet(self, name: str, *, interactive: bool, env: Mapping[str, str]) -> Welcome:
        hello = Hello(id=self.next_id(), protocol=PROTOCOL_VERSION, client=name, interactive=interactive, env=dict(env))
        self._hello = hello
        self.welcome = await self.request(hello)
        return self.welcome

    def next_id(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    async def request(self, op: Op[R]) -> R:
        """Send an op and wait for its reply. Raises OpenAgentError when it is refused."""
        if self._reader.done():
            raise ConnectionLost(self._closing_reason)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[op.id] = future
        try:
            await self._transport.send(encode_op(op))
            result = msgspec.convert(await future, type(op).result())
            if isinstance(op, DaemonFollow):
                self._follows = op.on
            return result
        except (ConnectionError, BrokenPipeError):
            raise ConnectionLost(self._closing_reason) from None
        finally:
            self._waiting.pop(op.id, None)

    async def create_session(self, cwd: str, *, name: str = "", session: str = "", **settings: Any) -> SessionInfo:
        change = msgspec.convert(settings, SettingsChange)
        op = SessionCreate(id=self.next_id(), cwd=cwd, name=name, session=session, settings=change)
        return await self.request(op)

    async def send(self, session: str, text: str) -> Sent:
        return await self.request(MessageSend(id=self.next_id(), session=session, text=text))

    async def cancel(self, session: str) -> bool:

        return (await self.request(TurnCancel(id=self.next_id(), session=session))).was_running

    async def answer_permission(self, session: str, ask: str, *, allow: bool, scope: str = "once") -> None:
        op = PermissionAnswer(
            id=self.next_id(),
            session=session,
            ask=ask,
            decision="allow" if allow else "deny",
            scope=cast(Any, scope),
        )
        await self.request(op)

    async def attach(self, session: str, *, after: int | None = None, messages: int = 50) -> "Attachment":
        queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        op = SessionAttach(id=self.next_id(), session=session, after=after, messages=messages)
        self._attaching[op.id] = queue
        try:
            attached = await self.request(op)
        except BaseException:
            for queues in self._listeners.values():
                queues.discard(queue)
            raise
        finally:
            del self._attaching[op.id]
        seq = attached.seq if attached.snapshot else after or 0
        self._seqs[attached.session] = max(seq, self._seqs.get(attached.session, 0))
        return Attachment(self, attached, after or 0, queue)

    async def detach(self, attachment: "Attachment") -> None:
        listeners = self._listeners.get(attachment.session, set())
        listeners.discard(attachment.queue)
        if not listeners:
            self._listeners.pop(attachment.session, None)
            self._seqs.pop(attachment.session, None)
        if not listeners and not self._reader.done():
            await self.request(SessionDetach(id=self.next_id(), session=attachment.session))

    @asynccontextmanager
    async def all_events(self) -> AsyncGenerator["asyncio.Queue[AnyEvent | None]", None]:
        """Every event this connection receives; None when it is lost."""
        queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        self._everything.add(queue)
        try:
            yield queue
        finally:
            self._everything.discard(queue)

    async def ended(self) -> None:
        """Returns when the connection is lost, and did not come back by itself."""
        await asyncio.wait([self._reader])

    async def close(self) -> None:
        self._reopen = None
        await self._transport.close()
        tasks = [self._reader, *([self._coming_back] if self._coming_back else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _read(self) -> None:
        try:
            while True:
                heard = False
                while (body := await self._transport.receive()) is not None:
                    self._dispatch(decode_event(body))
                    heard = True
                if not (heard and await self._open_again()):
                    break
        finally:
            self._fail_waiting()
            for queue in (*self._everything, *(q for queues in self._listeners.values() for q in queues)):
                queue.put_nowait(None)

    def _fail_waiting(self) -> None:
        lost = ConnectionLost(self._closing_reason)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(lost)

    async def _open_again(self) -> bool:
        if self._reopen is None or self._hello is None:
            return False
        self._fail_waiting()
        try:
            await self._transport.close()
            self._transport = await self._reopen()
        except (OpenAgentError, OSError):
            return False
        self._closing_reason = ""
        self._coming_back = asyncio.create_task(self._come_back(self._hello))
        return True

    async def _come_back(self, hello: Hello) -> None:
        try:
            await self.request(msgspec.structs.replace(hello, id=self.next_id()))
            if self._follows:
                await self.request(DaemonFollow(id=self.next_id()))
            for session, queues in list(self._listeners.items()):
                if queues and not await self._attach_again(session):
                    for queue in queues:
                        queue.put_nowait(None)
        except OpenAgentError:
            await self._transport.close()

    async def _attach_again(self, session: str) -> bool:
        """False: it is gone, or so much was missed that it is not repeated."""
        op = SessionAttach(id=self.next_id(), session=session, after=self._seqs.get(session), messages=0)
        try:
            return (await self.request(op)).snapshot is None
        except ConnectionLost:
            raise
        except OpenAgentError:
            return False

    def _dispatch(self, event: AnyEvent) -> None:
        if isinstance(event, Reply | Failed):
            future = self._waiting.get(event.op_id)
            if future is not None and not future.done():
                if isinstance(event, Reply):
                    self._listen(event)
                    future.set_result(event.result)
                else:
                    error = event.error
                    future.set_exception(
                        OpenAgentError(
                            error.code,
                            error.message,
                            hint=error.hint,
                            recoverable=error.recoverable,
                            retry_after=error.retry_after,
                        )
                    )
            return
        if isinstance(event, ConnectionClosing):
            self._closing_reason = str(event.error.message)
            if event.error.code != "slow_client":
                self._reopen = None  # it was meant
        elif type(event).durable and event.session in self._listeners:
            self._seqs[event.session] = max(event.seq, self._seqs.get(event.session, 0))
        for queue in self._listeners.get(event.session, ()):
            queue.put_nowait(event)
        for queue in self._everything:
            queue.put_nowait(event)

    def _listen(self, reply: Reply) -> None:
        """What comes right behind the answer to an attach must not be missed while whoever asked is being woken."""
        if (queue := self._attaching.get(reply.op_id)) is not None:
            # The session may have been asked for by the beginning of its id.
            session = cast("dict[str, Any]", reply.result)["session"]
            self._listeners.setdefault(session, set()).add(queue)


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
        """What the agent asks while no person is attached is answered at once: the caller reads only the end."""
        seen: list[Event] = []
        async for event in self.events():
            seen.append(event)
            if isinstance(event, QuestionAsked) and not event.answerable:
                await self._decide_yourself(event.question)
            if isinstance(event, TurnCompleted):
                return event, seen
        raise ConnectionLost

    async def _decide_yourself(self, question: Question) -> None:
        op = QuestionAnswer(
            id=self.client.next_id(), session=self.session, question=question.id, answer=question.unattended
        )
        with suppress(OpenAgentError):  # another client was faster
            await self.client.request(op)

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
    reopen: Opener | None = None
    if transport is None:
        socket = socket or elsewhere.socket_of(url)
        if url := "" if socket else url or elsewhere.wanted(env):
            reopen = partial(
                WebSocketTransport.open, elsewhere.web_socket_url(url), token or elsewhere.token_for(url, env)
            )
            transport = await reopen()
            env = {}  # keys from here are for the daemon of this machine, not for whoever answers elsewhere
        else:
            path = socket or locations.socket_path(env)
            reopen = partial(_open_local, path, auto_start=False)
            transport = await _open_local(path, auto_start=auto_start)
    client = Client(transport, reopen)
    try:
        await client.greet(name, interactive=interactive, env=locations.passed_on(env))
    except BaseException:
        await client.close()
        raise
    return client


async def _open_local(path: str, *, auto_start: bool) -> Transport:
    try:
        return await UnixTransport.open(path)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        if not auto_start:
            raise OpenAgentError(
                "not_found", "No daemon is running.", hint="Start one with `openagent serve --daemon`."
            ) from None
    try:
        await asyncio.to_thread(bring_up, path)
    except DaemonDidNotStart as problem:
        raise OpenAgentError("config_error", str(problem)) from None
    return await UnixTransport.open(path)
