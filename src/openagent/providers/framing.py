"""HTTP/1.1 as bytes: what a request looks like, and how an answer is taken apart. `line` moves the bytes."""

import re
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

MAX_HEAD = 100 * 1024
MAX_CHUNK_LINE = 16 * 1024
MAX_DECODED = 1024 * 1024
"""How much a compressed answer may grow to at a time."""

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"(?:[!-~]+(?:[ \t]+[!-~]+)*)?")
_TARGET = re.compile(r"/[!-~]*")
_STATUS = re.compile(r"HTTP/1\.([01]) +([1-9]\d\d)(?: .*)?")
_LENGTH = re.compile(r"[0-9]{1,15}")
_HEX = re.compile(rb"[0-9A-Fa-f]{1,15}")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_COMPRESSED = ("gzip", "x-gzip", "deflate")

More = Callable[[], Awaitable[bytes]]
"""Waits for what comes next; empty when the connection has ended."""


class LineProblem(Exception):
    """The connection ended too early, or what came over it was not HTTP."""


class Unsendable(LineProblem):
    """The request would not be HTTP. Says nothing about its content: a key may be in it."""


def request_head(target: str, headers: Sequence[tuple[str, str]], length: int | None) -> bytes:
    """The headers go out as they are given: their case and order are the caller's. Without a length it is a GET."""
    if not _TARGET.fullmatch(target):
        raise Unsendable
    lines = [f"{'GET' if length is None else 'POST'} {target} HTTP/1.1"]
    for name, value in headers:
        if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise Unsendable
        lines.append(f"{name}: {value}")
        kind = name.lower()
        if kind == "transfer-encoding" or (kind == "content-length" and value != str(length)):
            raise Unsendable
    return "\r\n".join((*lines, "\r\n")).encode("ascii")


class Response:
    """An answer's status and headers (names in lower case); iterate over it for its body."""

    def __init__(self, status: int, headers: Mapping[str, str], more: More, rest: bytes, *, keep_alive: bool) -> None:
        self.status = status
        self.headers = headers
        self._more = more
        self._rest = rest
        self._body = _body(status, headers)
        self._decoder = _Inflate() if headers.get("content-encoding", "").lower() in _COMPRESSED else None
        self._keep_alive = keep_alive

    @property
    def leaves_connection_usable(self) -> bool:
        return self._keep_alive and self._body.complete and not (self._body.surplus or self._rest)

    def __aiter__(self) -> "Response":
        return self

    async def __anext__(self) -> bytes:
        decoder = self._decoder
        while True:
            if decoder is not None and decoder.pending:
                chunk = decoder.feed(b"")
            elif self._body.complete and not self._rest:
                raise StopAsyncIteration
            else:
                chunk = await self._next()
                if decoder is not None and chunk:
                    chunk = decoder.feed(chunk)
            if chunk:
                return chunk

    async def _next(self) -> bytes:
        data, self._rest = self._rest or await self._more(), b""
        if data:
            return self._body.feed(data)
        self._body.end()
        return b""


async def read_response(more: More, data: bytes) -> Response:
    """`data` is what has already come."""
    while True:
        while (end := _HEAD_END.search(data)) is None:
            if len(data) > MAX_HEAD:
                raise LineProblem("the answer's headers have no end")
            came = await more()
            if not came:
                raise LineProblem("the connection ended within the answer's headers")
            data += came
        first, *lines = data[: end.start()].decode("latin-1").split("\n")
        data = data[end.end() :]
        status = _STATUS.fullmatch(first.rstrip("\r"))
        if status is None:
            raise LineProblem("the answer is not HTTP/1.1")
        code = int(status[2])
        if code == 101:
            raise LineProblem("the server switched to another protocol")
        if code >= 200:
            headers = _headers(lines)
            said = headers.get("connection", "").lower()
            keep_alive = "close" not in said if status[1] == "1" else "keep-alive" in said
            return Response(code, headers, more, data, keep_alive=keep_alive)


def _headers(lines: Sequence[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (" ", "\t") and name:
            headers[name] += " " + line.strip()
            continue
        raw, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(raw):
            raise LineProblem("the answer has a header that is none")
        name = raw.lower()
        value = value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _body(status: int, headers: Mapping[str, str]) -> "_Chunked | _Plain":
    if status in (204, 304):
        return _Plain(0)
    if coding := headers.get("transfer-encoding"):
        if coding.lower() != "chunked":
            raise LineProblem("the answer's transfer encoding is unknown")
        return _Chunked()
    if "content-length" not in headers:
        return _Plain(None)
    lengths = {length.strip() for length in headers["content-length"].split(",")}
    length = lengths.pop()
    if lengths or not _LENGTH.fullmatch(length):
        raise LineProblem("the answer's length is not a number")
    return _Plain(int(length))


class _Plain:
    """As many bytes as were announced, or all until the connection ends."""

    def __init__(self, length: int | None) -> None:
        self._left: int | None = length
        self.complete = length == 0
        self.surplus = False

    def feed(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        self.surplus = len(data) > self._left
        data = data[: self._left]
        self._left -= len(data)
        self.complete = self._left == 0
        return data

    def end(self) -> None:
        if self._left:
            raise LineProblem("the connection ended within the answer")
        self.complete = self.surplus = True


class _Chunked:
    def __init__(self) -> None:
        self._line: bytes = b""
        """The beginning of a line between chunks."""
        self._left: int = 0
        self._within = False
        """A chunk's closing line break is due."""
        self._last_seen = False
        self.complete = False
        self.surplus = False

    def feed(self, data: bytes) -> bytes:
        data = self._line + data
        parts: list[bytes] = []
        at = 0
        while not self.complete:
            if self._left:
                part = data[at : at + self._left]
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                if self._left:
                    break
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            self._read_line(data[at:end])
            at = end + 2
        self._line = data[at:]
        self.surplus = self.complete and bool(self._line)
        if len(self._line) > MAX_CHUNK_LINE:
            raise LineProblem("a line between two chunks has no end")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def end(self) -> None:
        raise LineProblem("the connection ended within the answer")

    def _read_line(self, line: bytes) -> None:
        if self._within:
            self._within = False
            if line:
                raise LineProblem("a chunk is longer than announced")
        elif self._last_seen:
            self.complete = not line
        else:
            size = line.partition(b";")[0].strip()
            if not _HEX.fullmatch(size):
                raise LineProblem("a chunk's length is not a number")
            self._left = int(size, 16)
            self._within = self._left > 0
            self._last_seen = self._left == 0


class _Inflate:
    """gzip, and both things that are called deflate."""

    def __init__(self) -> None:
        self._start = b""
        self._stream = zlib.decompressobj()
        self._begun = False
        self.pending = b""

    def feed(self, data: bytes) -> bytes:
        if not self._begun:
            self._start += data
            if len(self._start) < 2:
                return b""
            data = self._start
            self._begun = True
            self._stream = zlib.decompressobj(_window(data))
        try:
            plain = self._stream.decompress(self.pending + data, MAX_DECODED)
        except zlib.error as problem:
            raise LineProblem(f"the answer cannot be decompressed: {problem}") from None
        self.pending = self._stream.unconsumed_tail
        return plain


def _window(start: bytes) -> int:
    """What zlib wants to know about the wrapping, from the first two bytes."""
    if start[:2] == b"\x1f\x8b":
        return zlib.MAX_WBITS | 16
    wrapped = start[0] & 15 == zlib.DEFLATED and int.from_bytes(start[:2]) % 31 == 0
    return zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS
