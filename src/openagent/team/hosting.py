"""The workers' side: clients of gateways are connections like any other, whose lines lead through Redis."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.protocol.codec import UndecodableOp, decode_op
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op
from openagent.team.frames import Who, read_who, told_to
from openagent.team.links import Entry, Links

GONE_AFTER = 20.0
"""Seconds without a sign of life after which a gateway's clients count as gone: longer than Redis takes to restart."""
_log = logging.getLogger(__name__)


class Lines:
    """What goes to each gateway. The same words for several of its clients go once."""

    def __init__(self, worker: str, links: Links) -> None:
        self._worker = worker
        self._links = links
        self._numbers: Counter[str] = Counter()
        self._last: tuple[str, bytes, dict[str, str | bytes | int]] | None = None

    def send(self, gateway: str, client: str, body: bytes) -> None:
        if (last := self._last) is not None and last[0] == gateway and last[1] is body:
            last[2]["t"] = f"{last[2]['t']},{client}"
            return
        self._numbers[gateway] += 1
        fields: dict[str, str | bytes | int] = {
            "w": self._worker,
            "n": self._numbers[gateway],
            "t": client,
            "b": body,
        }
        self._last = (gateway, body, fields)
        self._links.send(told_to(gateway), fields)

    def written(self) -> None:
        """Nothing can be added any more to what was sent last."""
        self._last = None

    def skip(self) -> None:
        """Something did not go: whoever hears the next notices it by its number."""
        self._last = None
        for gateway in self._numbers:
            self._numbers[gateway] += 1

    def tell_of_gap(self) -> None:
        for gateway in list(self._numbers):
            self.send(gateway, "", b"{}")

    @property
    def unsent(self) -> int:
        return self._links.unsent


class RemoteLine:
    """One client of a gateway."""

    def __init__(self, lines: Lines, gateway: str, client: str) -> None:
        self._lines = lines
        self._gateway, self._client = gateway, client

    @property
    def unsent(self) -> int:
        return self._lines.unsent

    def send(self, body: bytes) -> None:
        self._lines.send(self._gateway, self._client, body)

    def flush(self) -> None:
        """It leaves with the next turn of the event loop."""

    def pause_reading(self) -> None:
        """The gateway sends one op after the other."""

    def resume_reading(self) -> None:
        """See pause_reading."""

    def hang_up(self) -> None:
        """Its gateway has heard why, and does it."""


class Hosting:
    def __init__(self, daemon: Daemon, worker: str, links: Links) -> None:
        self._daemon = daemon
        self._links = links
        self._lines = Lines(worker, links)
        links.before_writing = self._lines.written
        self._clients: dict[tuple[str, str], Connection] = {}
        self._seen: dict[str, float] = {}
        self._gap = False
        self.is_given_away: Callable[[Op], bool] = lambda _op: False
        """Whether an op is about a session that this worker, which is about to end, has given away."""

    def is_remote(self, connection: Connection) -> bool:
        return isinstance(connection.line, RemoteLine)

    def hear(self, entry: Entry) -> None:
        gateway, name = entry[b"g"].decode(), entry[b"c"].decode()
        self._seen[gateway] = time.monotonic()
        if entry[b"k"] == b"left":
            if (gone := self._clients.pop((gateway, name), None)) is not None:
                gone.close()
            return
        connection = self.client(gateway, name, read_who(entry[b"w"]))
        try:
            op = decode_op(entry[b"b"])
            if self.is_given_away(op):
                connection.refuse(_ending(), op.id)
            else:
                connection.receive(op)
        except UndecodableOp as problem:  # of a gateway that is newer than this worker
            connection.refuse(problem, problem.op_id)

    @contextmanager
    def answering(self, gateway: str, name: str, who: Who) -> Generator[Connection]:
        """For one answer, whether or not the client has spoken to this worker before."""
        connection = Connection(self._daemon, RemoteLine(self._lines, gateway, name), who.caller)
        connection.greeted, connection.name, connection.interactive = True, who.name, who.interactive
        try:
            yield connection
        finally:
            connection.close()

    def client(self, gateway: str, name: str, who: Who) -> Connection:
        connection = self._clients.get((gateway, name))
        if connection is None:
            connection = Connection(self._daemon, RemoteLine(self._lines, gateway, name), who.caller)
            connection.greeted = True
            self._clients[gateway, name] = connection
        connection.caller, connection.name, connection.interactive = who.caller, who.name, who.interactive
        return connection

    def lost(self) -> None:
        self._lines.skip()
        self._gap = True

    async def looked(self) -> None:
        """After every look at who lives: clients of a gateway that is gone are gone."""
        now = time.monotonic()
        for gateway in self._links.gateways:
            self._seen[gateway] = now
        if not self._links.is_up:
            return
        if self._gap:
            self._gap = False
            self._lines.tell_of_gap()
        gone = {gateway for gateway, seen in self._seen.items() if now - seen > GONE_AFTER}
        for key in [key for key in self._clients if key[0] in gone]:
            self._clients.pop(key).close()
        for gateway in gone:
            del self._seen[gateway]


def _ending() -> OpenAgentError:
    return OpenAgentError("shutting_down", "This worker is stopping, and others have its sessions.", hint="Try again.")


def encode_who(connection: Connection) -> str:
    return msgspec.json.encode(Who(connection.caller, connection.name, connection.interactive)).decode()
