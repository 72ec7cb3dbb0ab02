"""The one way out of a jail whose network is a list of hosts: an HTTP proxy that knows the list.

A helper inside the jail opens a listening socket on the jail's own loopback and hands it out through an inherited
socket pair; the proxy then accepts on it from here. Nothing else of the host is reachable from inside.
"""

import array
import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

PROXY_PORT = 3128
_HEAD_LIMIT = 64 * 1024
_CONNECT_TIMEOUT = 20.0
_DEFAULT_PORTS = (80, 443)
_BLOCK = 64 * 1024

HANDOVER = (
    "import array,socket,sys;"
    f"s=socket.create_server(('127.0.0.1',{PROXY_PORT}));"
    "c=socket.socket(fileno=int(sys.argv[1]));"
    "c.sendmsg([b'x'],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array('i',[s.fileno()]))])"
)
"""Python for the helper inside."""

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_OWN_NAMES = ("localhost", "127.0.0.1", "::1")


def proxy_env(hosts: Sequence[str]) -> dict[str, str]:
    """Points programs inside at the proxy; the jail's own loopback goes past it unless the host's is on the list."""
    listed = {HostRule.parse(host).name for host in hosts}
    variables: dict[str, str] = dict.fromkeys(_PROXY_VARIABLES, f"http://127.0.0.1:{PROXY_PORT}")
    variables["no_proxy"] = ",".join(name for name in _OWN_NAMES if name not in listed)
    return variables | {name.upper(): value for name, value in variables.items()}


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
        return host.endswith(f".{self.name}") if self.below else host == self.name

    @property
    def names_an_address(self) -> bool:
        """Such a rule may point at this machine or its network; a name must not resolve to there."""
        return self.name == "localhost" or _address(self.name) is not None


class _Refused(Exception):
    pass


class EgressProxy:
    def __init__(self, hosts: Sequence[str], on_request: Callable[[str, int, bool], None] | None = None) -> None:
        self._rules = [HostRule.parse(host) for host in hosts]
        self._on_request = on_request
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.StreamWriter] = set()

    async def serve_handed_over(self, handover: socket.socket) -> None:
        """Waits for the helper inside, then serves what it hands out."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(handover.fileno(), lambda: ready.done() or ready.set_result(None))
        try:
            await ready
            fds = array.array("i")
            _, ancillary, _, _ = handover.recvmsg(1, socket.CMSG_SPACE(fds.itemsize))
            for _, _, data in ancillary:
                fds.frombytes(data[: fds.itemsize])
        finally:
            loop.remove_reader(handover.fileno())
            handover.close()
        if fds:
            await self.serve(socket.socket(fileno=fds[0]))

    async def serve(self, listening: socket.socket) -> None:
        self._servers.append(await asyncio.start_server(self._handle, sock=listening, limit=_HEAD_LIMIT))

    def close(self) -> None:
        for server in self._servers:
            server.close()
        for writer in list(self._connections):
            writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            await self._proxy(reader, writer)
        except _Refused as refusal:
            body = f"{refusal}\n".encode()
            writer.write(
                b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n"
                b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            )
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
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
        outer_reader, outer_writer = await self._connect(host, port)
        self._connections.add(outer_writer)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            outer_writer.write(opening)
            await asyncio.gather(_pump(reader, outer_writer), _pump(outer_reader, writer))
        finally:
            self._connections.discard(outer_writer)
            outer_writer.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        rule = next((rule for rule in self._rules if rule.matches(host, port)), None)
        if self._on_request is not None:
            self._on_request(host, port, rule is not None)
        if rule is None:
            raise _Refused(f"The jail's network does not include {host}:{port}. Allow it under [jail] network.")
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT_TIMEOUT):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = [str(info[4][0]) for info in found]
            if not rule.names_an_address and not all(_is_public(address) for address in addresses):
                raise _Refused(f"{host} resolves to an address of this machine or its network.")
            return await asyncio.open_connection(addresses[0], port)


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


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_public(text: str) -> bool:
    address = _address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped is not None and mapped.is_global and not mapped.is_multicast
