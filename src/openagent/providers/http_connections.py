"""HTTP/1.1 for model requests and nothing else: one question, one streamed answer, connections kept for the next.

A general client spends more time on a request than the rest of the harness does on a step; this spends a fifth of it.
Whoever asks gets a `LineProblem` when the transport fails, and answers of every status as they are.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from openagent.providers.framing import LineProblem, Response, read_response, request_head

if TYPE_CHECKING:
    import ssl

MAX_CONNECTIONS = 200
MAX_IDLE = 50
IDLE_S = 120.0
NEXT_ADDRESS_S = 0.25
"""How long an address may take to connect before the host's next one is tried beside it (RFC 8305)."""
MAX_UNREAD = 1024 * 1024


class ConnectTookTooLong(LineProblem):
    pass


class NotConnected(LineProblem):
    pass


class Stalled(LineProblem):
    pass


class HttpConnections:
    """The connections to one server. `secure` is what to check its certificate with."""

    def __init__(
        self, host: str, port: int, secure: "ssl.SSLContext | None", *, connect_timeout: float, stall_timeout: float
    ) -> None:
        self._host = host
        self._port = port
        self._secure = secure
        self._connect_timeout = connect_timeout
        self._stall_timeout = stall_timeout
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._open: set[_Connection] = set()
        self._idle: list[_Connection] = []
        """The one used last is at the end, and is used first."""

    @asynccontextmanager
    async def ask(
        self, target: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> AsyncGenerator[Response]:
        """A POST, or a GET where there is no body. Leaving before the answer's end closes its connection."""
        message = request_head(target, headers, None if body is None else len(body)) + (body or b"")
        async with self._free:
            connection, response = self._kept(), None
            if connection is not None:
                response = await connection.ask(message)
            if connection is None or response is None:
                # No connection was kept, or the server gave it up before it answered anything.
                connection = await self._connect()
                response = await connection.ask(message)
            if response is None:
                raise LineProblem("the server closed the connection without an answer")
            try:
                yield response
            finally:
                if response.leaves_connection_usable and connection.is_quiet and len(self._idle) < MAX_IDLE:
                    connection.idle_since = asyncio.get_running_loop().time()
                    self._idle.append(connection)
                else:
                    connection.abort()

    async def close(self) -> None:
        self._idle.clear()
        if self._open:
            for connection in self._open:
                connection.abort()
            await asyncio.wait([connection.lost for connection in self._open], timeout=1)

    def _kept(self) -> "_Connection | None":
        long_ago = asyncio.get_running_loop().time() - IDLE_S
        while self._idle and (self._idle[0].idle_since < long_ago or not self._idle[0].is_quiet):
            self._idle.pop(0).abort()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet:
                return connection
            connection.abort()
        return None

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        attempts: set[asyncio.Task[_Connection | OSError]] = set()
        problem: OSError | None = None
        try:
            async with asyncio.timeout(self._connect_timeout):
                found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
                addresses = [str(address[0]) for *_, address in found]
                while addresses or attempts:
                    if addresses:
                        attempts.add(loop.create_task(self._attempt(addresses.pop(0))))
                    patience = NEXT_ADDRESS_S if addresses else None
                    done, _ = await asyncio.wait(attempts, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                    for attempt in done:
                        attempts.discard(attempt)
                        if isinstance(outcome := attempt.result(), _Connection):
                            return outcome
                        problem = problem or outcome
        except TimeoutError:
            raise ConnectTookTooLong from None
        except (OSError, OverflowError, UnicodeError) as unknown:
            raise NotConnected(str(unknown)) from None
        finally:
            for attempt in attempts:
                attempt.cancel()
                attempt.add_done_callback(_close_late)
        raise NotConnected(str(problem or "the name has no address"))

    async def _attempt(self, address: str) -> "_Connection | OSError":
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self._open, self._stall_timeout),
                address,
                self._port,
                ssl=self._secure,
                server_hostname=self._host if self._secure else None,
            )
        except OSError as problem:
            return problem
        return connection


def _close_late(attempt: "asyncio.Task[_Connection | OSError]") -> None:
    """Two addresses answered at once: one connection is enough."""
    if attempt.cancelled() or attempt.exception() is not None:
        return
    if isinstance(outcome := attempt.result(), _Connection):
        outcome.abort()


class _Connection(asyncio.Protocol):
    idle_since = 0.0

    def __init__(self, register: "set[_Connection]", stall_timeout: float) -> None:
        self._register = register
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stall_timeout = stall_timeout
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unread: list[bytes] = []
        self._unread_size = 0
        self._unsent = 0
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._ended = False
        self._aborted = False
        """By us: then nobody may take it for a connection that the server gave up."""
        self._problem: Exception | None = None

    @property
    def is_quiet(self) -> bool:
        return not self._ended and not self._unread

    async def ask(self, message: bytes) -> Response | None:
        """None: the connection ended before the first byte of an answer."""
        response = None
        try:
            if self._transport is not None and not self._ended:
                self._transport.write(message)
                self._unsent = len(message)
                if begun := await self._begin():
                    response = await read_response(self.more, begun)
        finally:
            if response is None:
                self.abort()
        return response

    async def _begin(self) -> bytes:
        try:
            return await self.more()
        except Stalled:
            raise
        except LineProblem:
            if self._aborted:
                raise
            return b""

    async def more(self) -> bytes:
        """What has come since the last call, or comes next. Empty: the server has ended the connection."""
        if not self._unread and not self._ended:
            self._waiter = self._loop.create_future()
            self._alarm = self._loop.call_later(self._stall_timeout, self._give_up)
            try:
                await self._waiter
            finally:
                self._alarm.cancel()
                self._waiter = None
        if self._unread:
            data = self._unread[0] if len(self._unread) == 1 else b"".join(self._unread)
            self._unread.clear()
            if self._unread_size > MAX_UNREAD and self._transport is not None and not self._ended:
                self._transport.resume_reading()
            self._unread_size = 0
            return data
        if self._aborted or self._problem is not None:
            raise LineProblem("the connection was cut")
        return b""

    def abort(self) -> None:
        self._aborted = True
        if self._transport is not None:
            self._transport.abort()
        self._end(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._register.add(self)

    def data_received(self, data: bytes) -> None:
        was_full = self._unread_size > MAX_UNREAD
        self._unread.append(data)
        self._unread_size += len(data)
        if self._unread_size > MAX_UNREAD and not was_full and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._register.discard(self)
        self._end(exc)
        if not self.lost.done():
            self.lost.set_result(None)

    def _end(self, problem: Exception | None) -> None:
        if not self._ended:
            self._ended = True
            self._problem = problem
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _give_up(self) -> None:
        """A long request that is still on its way is not the server's silence."""
        if self._waiter is None or self._waiter.done():
            return
        unsent = self._transport.get_write_buffer_size() if self._transport is not None else 0
        if 0 < unsent < self._unsent:
            self._unsent = unsent
            self._alarm = self._loop.call_later(self._stall_timeout, self._give_up)
        else:
            self._waiter.set_exception(Stalled())
