"""The thinnest client: one blocking socket, no asyncio, no msgspec.

`openagent run` must feel instant, so this module avoids imports that cost more than the turn itself: `_socket` and
`_json` are the C parts of `socket` and `json`, without the 20 ms of regular expressions and enums those two bring,
and `typing` alone costs 10 ms.
"""

from __future__ import annotations

import _json
import _signal  # pyright: ignore[reportMissingImports] -- the C part of `signal`, which brings enums along
import os
import select
from _socket import AF_UNIX, SOCK_STREAM
from _socket import socket as Socket  # noqa: N812

from openagent.client.launch import bring_up
from openagent.client.own_trace import own
from openagent.protocol import locations
from openagent.protocol.version import PROTOCOL_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Event = dict[str, Any]


class _Scanning:
    """What the scanner wants to know."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan: Callable[[str, int], tuple[Any, int]] = _json.make_scanner(_Scanning())  # pyright: ignore[reportArgumentType]
_quote = _json.encode_basestring_ascii


def to_json(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict):
        items: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return "{" + ",".join(f"{_quote(key)}:{to_json(item)}" for key, item in items.items()) + "}"
    if isinstance(value, list):
        members: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return "[" + ",".join(to_json(item) for item in members) + "]"
    return repr(value)


UNANSWERED = 60.0
"""Seconds in which a daemon answers, also on the slowest machine."""


class ConnectionEnded(Exception):
    """The daemon has gone, or ended the connection; the text says why if it said so."""

    def __init__(self, reason: str = "", *, for_good: bool = False) -> None:
        super().__init__(reason)
        self.for_good = for_good
        """The daemon does not want it back."""


class ThinClient:
    def __init__(self, name: str, *, interactive: bool, auto_start: bool = True) -> None:
        self._count = 0
        self.told_silent: Callable[[float], None] | None = None
        """Hears every second for how long an answer is due."""
        self._open(auto_start)
        self.hello = self.queue(
            "hello", protocol=PROTOCOL_VERSION, client=name, interactive=interactive, env=self._passed_on()
        )

    def _open(self, auto_start: bool) -> None:
        self._socket = Socket(AF_UNIX, SOCK_STREAM)
        self._poll: select.poll | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        path = locations.socket_path(os.environ)
        try:
            self._socket.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            if not auto_start:
                raise
            bring_up(path)
            self._socket.connect(path)

    def _passed_on(self) -> dict[str, Any]:
        return locations.passed_on(os.environ)

    def queue(self, op: str, **fields: Any) -> str:
        """Add an op to what the next `flush` sends, and return its id."""
        self._count += 1
        op_id = f"{own.before_ids}{os.getpid()}-{self._count}"
        self._add(to_json({"op": op, "id": op_id, **fields}))
        return op_id

    def _add(self, body: str) -> None:
        data = body.encode()
        self._unsent += len(data).to_bytes(4, "big") + data

    def flush(self) -> None:
        try:
            self._socket.sendall(self._unsent)
        except ConnectionError:
            raise ConnectionEnded from None
        self._unsent.clear()

    def receive_body(self, patience: float | None = None) -> str | None:
        """None when nothing came for so many seconds; without `patience` it waits for as long as it takes."""
        received = self._received
        while True:
            if len(received) >= 4 and len(received) >= (end := 4 + int.from_bytes(received[:4], "big")):
                body = received[4:end].decode()
                del received[:end]
                return body
            if not self._wait(patience):
                return None
            try:
                data = self._socket.recv(1 << 18)
            except ConnectionError:
                data = b""
            if not data:
                raise ConnectionEnded
            received += data

    def _wait(self, patience: float | None) -> bool:
        """Until something came; False when nothing did. Ctrl-C ends it even when it comes in the moment before: such a
        one would not end `recv`, which then waits for whatever comes next."""
        if self._poll is None:
            self._woken, waking = os.pipe()
            os.set_blocking(waking, False)
            _signal.set_wakeup_fd(waking, warn_on_full_buffer=False)  # pyright: ignore[reportUnknownMemberType]
            self._poll = select.poll()
            self._poll.register(self._woken, select.POLLIN)
            self._poll.register(self._socket.fileno(), select.POLLIN)
            if not os.isatty(1):
                self._poll.register(1, 0)  # whether the reader of a pipe has left is told unasked
        came = self._poll.poll(None if patience is None else patience * 1000)
        for descriptor, what in came:
            if descriptor == self._woken:
                os.read(self._woken, 64)
            elif descriptor == 1 and what & (select.POLLERR | select.POLLHUP):
                raise BrokenPipeError
        return bool(came)

    def receive(self) -> Event:
        """An answer is due."""
        waited = 0.0
        while (body := self.receive_body(1.0)) is None:
            waited += 1.0
            self.silent_for(waited)
        return parse(body)

    def silent_for(self, seconds: float) -> None:
        """An answer is due for so long. Raises ConnectionEnded when that is too long."""
        if seconds >= UNANSWERED:
            raise ConnectionEnded(f"the daemon has not answered for {seconds:.0f} seconds", for_good=True)
        if self.told_silent is not None:
            self.told_silent(seconds)

    def request(self, op: str, **fields: Any) -> Any:
        """Send and wait for the reply, leaving out whatever else arrives before it. Raises Refused."""
        op_id = self.queue(op, **fields)
        self.flush()
        while True:
            event = self.receive()
            if event.get("op_id") in (op_id, self.hello) and event["type"] == "failed":
                raise Refused(event["error"])
            if event.get("op_id") == op_id and event["type"] == "reply":
                return event.get("result")

    def close(self) -> None:
        self._socket.close()


HUNG_UP = (
    "the daemon runs, but has hung up",
    "It may have too many files open (`openagent logs` tells). Try again, or start it with a higher `ulimit -n`.",
)


def still_listens() -> bool:
    """A daemon of this machine takes connections."""
    trial = Socket(AF_UNIX, SOCK_STREAM)
    try:
        trial.connect(locations.socket_path(os.environ))
    except OSError:
        return False
    finally:
        trial.close()
    return True


def reader_left() -> bool:
    """Whoever read what is printed, as `head` does, reads no more."""
    if os.isatty(1):
        return False
    poll = select.poll()
    poll.register(1, 0)
    return any(what & (select.POLLERR | select.POLLHUP) for _, what in poll.poll(0))


class Refused(Exception):
    def __init__(self, error: Event) -> None:
        super().__init__(explain(error))
        self.error = error


def explain(error: Event) -> str:
    return f"{error['message']} {error.get('hint', '')}".strip()


def parse(body: str) -> Event:
    return _scan(body, 0)[0]
