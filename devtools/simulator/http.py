"""An HTTP/1.1 server on an asyncio Protocol: it reads requests, and plays planned answers to the byte.

An answer is a list of timed writes. Without pauses it leaves in a single write, so the simulator adds no latency
of its own; with pauses each write is scheduled on the loop's clock, so pacing does not drift.
"""

import asyncio
import math
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from devtools.simulator.records import Record

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024

UNTIL_RELEASED = math.inf
"""A pause that only `release` ends."""


class BadRequest(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Head(NamedTuple):
    method: str
    target: str
    headers: list[tuple[str, str]]
    keep_alive: bool
    raw: bytes


class Request(NamedTuple):
    head: Head
    body: bytes
    arrived_at: float


class Write(NamedTuple):
    pause: float
    """Seconds to wait before writing."""
    data: bytes


class Answer(msgspec.Struct):
    writes: list[Write]
    record: Record
    close: bool = False


def response_head(status: int, headers: dict[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def parse_head(raw: bytes) -> Head:
    request_line, *lines = raw.decode("latin-1").split("\r\n")
    words = request_line.split(" ")
    if len(words) != 3 or not words[0].isalpha() or not words[2].startswith("HTTP/1."):
        raise BadRequest(400, f"malformed request line: {request_line[:100]!r}")
    headers: list[tuple[str, str]] = []
    connection = ""
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest(400, f"malformed header line: {line[:100]!r}")
        headers.append((name, value.strip()))
        if name.lower() == "connection":
            connection = value.strip().lower()
    keep_alive = connection != "close" if words[2] != "HTTP/1.0" else connection == "keep-alive"
    return Head(words[0], words[1], headers, keep_alive, raw)


def parse_body(head: Head, buffer: bytearray, start: int) -> tuple[bytes, int] | None:
    """The body that begins at `start` and where it ends; None while it is incomplete."""
    fields = {name.lower(): value for name, value in head.headers}
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return _chunked_body(buffer, start)
    length = fields.get("content-length", "0")
    if not length.isdecimal():
        raise BadRequest(400, f"malformed content-length: {length!r}")
    end = start + int(length)
    if int(length) > MAX_BODY:
        raise BadRequest(413, f"the body is larger than {MAX_BODY} bytes")
    return (bytes(buffer[start:end]), end) if len(buffer) >= end else None


def _chunked_body(buffer: bytearray, position: int) -> tuple[bytes, int] | None:
    body = bytearray()
    while True:
        line_end = buffer.find(b"\r\n", position)
        if line_end < 0:
            return None
        try:
            size = int(bytes(buffer[position:line_end]).split(b";")[0], 16)
        except ValueError:
            raise BadRequest(400, "malformed chunk size") from None
        data_start, data_end = line_end + 2, line_end + 2 + size
        if len(buffer) < data_end + 2:
            return None
        if not buffer.startswith(b"\r\n", data_end):
            raise BadRequest(400, "a chunk is longer than announced")
        body += buffer[data_start:data_end]
        if len(body) > MAX_BODY:
            raise BadRequest(413, f"the body is larger than {MAX_BODY} bytes")
        position = data_end + 2
        if size == 0:
            return bytes(body), position


class Connection(asyncio.Protocol):
    """One client connection: requests in, answers out, one at a time and in order."""

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        changed: Callable[[], None],
        connections: "set[Connection]",
    ) -> None:
        self._answer = answer
        self._changed = changed
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: Head | None = None
        self._body_start = 0
        self._arrived_at = 0.0
        self._current: Answer | None = None
        self._keep_alive = True
        self._next_write = 0
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._held = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        if self._current is not None:
            self._current.record.disconnected_at = time.monotonic()
            self._current = None
            self._changed()

    def data_received(self, data: bytes) -> None:
        if not self._buffer:
            self._arrived_at = time.monotonic()
        self._buffer += data
        if self._current is None:
            self._read_requests()

    def release(self) -> None:
        """Go on after a pause without end."""
        if self._held:
            self._held = False
            self._due_at = self._loop.time()
            self._play(resumed=True)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _read_requests(self) -> None:
        while self._current is None and self._transport is not None and not self._transport.is_closing():
            try:
                request = self._next_request()
            except BadRequest as refusal:
                self._refuse(refusal)
                return
            if request is None:
                return
            self._keep_alive = request.head.keep_alive
            self._current = self._answer(request)
            self._next_write = 0
            self._due_at = self._loop.time()
            self._play()

    def _next_request(self) -> Request | None:
        if self._head is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end > MAX_HEAD or (end < 0 and len(self._buffer) > MAX_HEAD):
                raise BadRequest(431, "the request head is too large")
            if end < 0:
                return None
            self._head = parse_head(bytes(self._buffer[:end]))
            self._body_start = end + 4
        found = parse_body(self._head, self._buffer, self._body_start)
        if found is None:
            return None
        body, end = found
        request = Request(self._head, body, self._arrived_at)
        del self._buffer[:end]
        self._head = None
        self._arrived_at = time.monotonic()
        return request

    def _refuse(self, refusal: BadRequest) -> None:
        assert self._transport is not None
        body = f"{refusal}\n".encode()
        fields = {"content-type": "text/plain", "content-length": str(len(body)), "connection": "close"}
        self._transport.write(response_head(refusal.status, fields) + body)
        self._transport.close()

    def _play(self, *, resumed: bool = False) -> None:
        """Write everything that is due, then finish or wait for the next write's time."""
        answer, transport = self._current, self._transport
        if answer is None or transport is None:
            return
        ready: list[bytes] = []
        now = self._loop.time()
        while self._next_write < len(answer.writes):
            pause, data = answer.writes[self._next_write]
            if pause and not resumed:
                if pause == UNTIL_RELEASED:
                    self._held = True
                    self._changed()
                    break
                if self._due_at + pause > now:
                    self._timer = self._loop.call_at(self._due_at + pause, self._wake, pause)
                    break
                self._due_at += pause
            resumed = False
            ready.append(data)
            self._next_write += 1
        finished = self._next_write == len(answer.writes)
        if finished:
            # Stamped before the bytes leave: the client may answer before this process runs again.
            answer.record.finished_at = time.monotonic()
        if ready:
            transport.write(b"".join(ready))
        if finished:
            self._finish(answer, transport)

    def _wake(self, pause: float) -> None:
        self._due_at += pause
        self._play(resumed=True)

    def _finish(self, answer: Answer, transport: asyncio.Transport) -> None:
        self._current = None
        self._changed()
        if answer.close or not self._keep_alive:
            transport.close()
        elif self._buffer:
            self._loop.call_soon(self._read_requests)
