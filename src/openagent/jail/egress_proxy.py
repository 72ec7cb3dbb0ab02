"""The one way out of a jail: an HTTP proxy that asks, host by host, whether it may be gone.

It listens on the jail's own loopback and connects from here. Nothing else of the network is reachable from inside.
A connection waits while the question is open. The answer is a matter of others: what is decided here is where a host
leads, so that they are asked about that, and that the connection goes there and nowhere else.
"""

import asyncio
import contextlib
import functools
import re
import socket
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from openagent.jail.destinations import OWN_ADDRESSES, Destination, find, look_up
from openagent.plugins.addresses import HERE, address_of, written
from openagent.plugins.held_time import HeldTime
from openagent.plugins.jail import AskHost, AskHostFor, NeverReached, Tunnel, reach_anything

PROXY_PORT = 3128
_HEAD_LIMIT = 64 * 1024
_CONNECT_TIMEOUT = 20.0
_DEFAULT_PORTS = (80, 443)
_BLOCK = 64 * 1024
_MOST_CONNECTIONS = 256
"""Of one jail at once, both ends counted: they are the daemon's descriptors, which everybody needs."""
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")
"""People are shown it, and rules are made of it."""

_PROXY = f"http://127.0.0.1:{PROXY_PORT}"
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "npm_config_proxy", "npm_config_https_proxy")
_OWN_NAMES = ("localhost", "127.0.0.1", "::1")


def proxy_env(hosts: Sequence[str] = ()) -> dict[str, str]:
    """Points programs inside at the proxy; the jail's own loopback goes past it unless the host's is on the list."""
    listed = {HostRule.parse(host).name for host in hosts}
    past = ",".join(name for name in _OWN_NAMES if name not in listed)
    variables = {**dict.fromkeys(_PROXY_VARIABLES, _PROXY), "no_proxy": past, "npm_config_noproxy": past}
    capitals = {name.upper(): value for name, value in variables.items() if not name.startswith("npm_")}
    return {**variables, **capitals, "NODE_USE_ENV_PROXY": "1", "YARN_HTTP_PROXY": _PROXY, "YARN_HTTPS_PROXY": _PROXY}


def held_while_asking(asks: AskHostFor | None, session: str, held: HeldTime) -> AskHost | None:
    """A command's own time stands still while a person is asked about it."""
    if asks is None:
        return None

    async def ask(host: str, port: int, tunnel: Tunnel | None = None) -> str:
        with held.holding():
            return await asks(session, host, port, tunnel)

    return ask


class HostRule(NamedTuple):
    """`api.example.com`, `*.example.com` (what is below it) or either with `:port`."""

    name: str
    below: bool
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "HostRule":
        host, _, port = text.strip().lower().rpartition(":")
        if not host or not port.isdigit():
            host, port = text.strip().lower(), ""
        below = host.startswith(("*.", "."))
        return cls(host.lstrip("*").lstrip(".").rstrip("."), below, int(port) if port else None)

    def matches(self, host: str, port: int) -> bool:
        if port != self.port and (self.port is not None or port not in _DEFAULT_PORTS):
            return False
        return host.endswith(f".{self.name}") if self.below else written(host) == written(self.name)


def only(hosts: Sequence[str]) -> AskHost:
    """For a network that is a list of hosts: those, and nobody is asked about another."""
    rules = [HostRule.parse(host) for host in hosts]

    async def ask(host: str, port: int, tunnel: Tunnel | None = None) -> str:
        del tunnel
        if any(rule.matches(host, port) for rule in rules):
            return ""
        return f"The jail's network does not include {host}:{port}. Allow it under [jail] network."

    return ask


_BROKEN = (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class _Refused(Exception):
    pass


class _AskerGone(Exception):
    """Whoever wanted the connection did not wait for it."""


class EgressProxy:
    def __init__(
        self, ask: AskHost, names: Mapping[str, str] | None = None, never: NeverReached = reach_anything
    ) -> None:
        """`names` are a person's own, each with the address it stands for, wherever that is."""
        self._ask = ask
        self._never = never
        self._names = {name.lower().rstrip("."): address for name, address in (names or {}).items()}
        self._servers: list[asyncio.Server] = []
        self._forwarded: dict[int, asyncio.Server] = {}
        self._through: dict[int, set[asyncio.StreamWriter]] = {}
        """By which forwarded port connections came."""
        self._connections: set[asyncio.StreamWriter] = set()
        self._closed = False

    async def serve(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._handle, sock=listening, limit=_HEAD_LIMIT, start_serving=False)
        self._servers.append(server)
        await self._start(server)

    async def forward(self, listening: socket.socket, port: int) -> None:
        """A port of the jail's loopback that is this machine's own."""

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async def to_the_host() -> None:
                if await self._never(HERE, port, OWN_ADDRESSES):
                    return
                await self._join(reader, writer, await _connect_to(OWN_ADDRESSES, port), b"", b"")

            through = self._through.setdefault(port, set())
            through.add(writer)
            await self._attended(writer, to_the_host())
            through.discard(writer)

        self._forwarded[port] = await asyncio.start_server(handle, sock=listening, start_serving=False)
        await self._start(self._forwarded[port])

    async def _start(self, server: asyncio.Server) -> None:
        """Start a server that is already registered, so that `close` finds it even if the start is cancelled."""
        if self._closed:
            server.close()
        else:
            await server.start_serving()

    @property
    def forwarded(self) -> list[int]:
        return list(self._forwarded)

    def stop_forwarding(self, port: int) -> None:
        """Also what goes through it now."""
        self._forwarded.pop(port).close()
        for writer in self._through.pop(port, ()):
            _cut(writer)

    def close(self) -> None:
        self._closed = True
        for server in (*self._servers, *self._forwarded.values()):
            server.close()
        for writer in list(self._connections):
            writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def proxied() -> None:
            try:
                await self._proxy(reader, writer)
            except _Refused as refusal:
                _answer(writer, "403 Forbidden", str(refusal))
            except _BROKEN as problem:
                _answer(writer, "502 Bad Gateway", f"The connection could not be made: {problem or 'no answer'}.")

        await self._attended(writer, proxied())

    async def _attended(self, writer: asyncio.StreamWriter, work: Coroutine[Any, Any, None]) -> None:
        if len(self._connections) >= _MOST_CONNECTIONS:
            work.close()
            writer.close()
            return
        self._connections.add(writer)
        try:
            with contextlib.suppress(_AskerGone, OSError, TimeoutError):
                await work
        finally:
            self._connections.discard(writer)
            with contextlib.suppress(OSError):
                await writer.drain()
            writer.close()

    async def _proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, _, headers = head.partition(b"\r\n")
        method, target, version = request_line.decode("ascii").split(" ")
        if method == "CONNECT":
            host, port = _split_host(target, 443)
            opening = b""
        else:
            host, port, path = _split_url(target)
            opening = f"{method} {path} {version}\r\nConnection: close\r\n".encode("ascii") + _without_hop_headers(
                headers
            )
        if not (_NAME.fullmatch(host) or address_of(host) is not None) or not 0 < port < 65536:
            raise _Refused("This is no host and port.")
        destination = await find(host, port, self._names, self._never)
        tunnel = Tunnel(also=destination.also, never=destination.never)
        early, outer = await self._reached(destination, tunnel, reader)
        reply = b"HTTP/1.1 200 Connection established\r\n\r\n" if method == "CONNECT" else b""
        tunnel.cut = functools.partial(_cut, writer, outer[1])
        if tunnel.closed:
            tunnel.cut()
        await self._join(reader, writer, outer, reply, opening + early)

    async def _reached(
        self, destination: Destination, tunnel: Tunnel, reader: asyncio.StreamReader
    ) -> tuple[bytes, tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """What was sent meanwhile, and the connection: to an address that was looked at, whatever a name stands for by
        now."""
        refusal, early = await self._asked(destination, tunnel, reader)
        if refusal or destination.never:
            raise _Refused(refusal or f"{destination.never}.")
        if not destination.addresses:
            destination = await look_up(destination, self._never)
            if destination.never:
                raise _Refused(tunnel.refuse(destination.never))
        return early, await _connect_to(destination.addresses, destination.port)

    async def _asked(self, destination: Destination, tunnel: Tunnel, reader: asyncio.StreamReader) -> tuple[str, bytes]:
        """Why not, if not, and what was sent meanwhile. Who hangs up while the question is open takes it back."""
        early = bytearray()
        asking = asyncio.ensure_future(self._ask(destination.host, destination.port, tunnel))
        hearing = asyncio.ensure_future(reader.read(_BLOCK))
        try:
            while not asking.done():
                await asyncio.wait([asking, hearing], return_when=asyncio.FIRST_COMPLETED)
                if hearing.done() and not asking.done():
                    if not (data := hearing.result()):
                        raise _AskerGone
                    early += data
                    if len(early) > _HEAD_LIMIT:  # the rest of what it sends can wait where it is
                        await asyncio.wait([asking])
                        return asking.result(), bytes(early)
                    hearing = asyncio.ensure_future(reader.read(_BLOCK))
            if hearing.done():
                early += hearing.result()
            return asking.result(), bytes(early)
        finally:
            asking.cancel()
            hearing.cancel()
            await asyncio.wait([asking, hearing])

    async def _join(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        outer: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        reply: bytes,
        opening: bytes,
    ) -> None:
        outer_reader, outer_writer = outer
        self._connections.add(outer_writer)
        try:
            writer.write(reply)
            outer_writer.write(opening)
            await asyncio.gather(_pump(reader, outer_writer), _pump(outer_reader, writer))
        finally:
            self._connections.discard(outer_writer)
            outer_writer.close()


def _cut(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        writer.transport.abort()


def _answer(writer: asyncio.StreamWriter, status: str, text: str) -> None:
    body = f"{text}\n".encode()
    writer.write(
        f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


async def _connect_to(addresses: Sequence[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    problem: OSError = OSError("it has no address")
    async with asyncio.timeout(_CONNECT_TIMEOUT):
        for address in addresses:
            try:
                return await asyncio.open_connection(address, port)
            except OSError as refused:
                problem = refused
    raise problem


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_BLOCK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _split_host(text: str, default_port: int) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        host, port = text, str(default_port)
    return host.strip("[]").rstrip(".").lower(), int(port)


def _split_url(url: str) -> tuple[str, int, str]:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() != "http":
        raise _Refused("This proxy takes http:// addresses and CONNECT.")
    authority, slash, path = rest.partition("/")
    host, port = _split_host(authority.rpartition("@")[2], 80)
    return host, port, slash + path or "/"


def _without_hop_headers(headers: bytes) -> bytes:
    """Ends with the empty line."""
    lines = headers.split(b"\r\n")
    dropped = (b"proxy-", b"connection:", b"keep-alive:")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(dropped))
