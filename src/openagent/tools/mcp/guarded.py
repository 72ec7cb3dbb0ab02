"""Requests to a server and to where it sends us: a login's addresses come from the server's own answers.

The server itself was named by a person. Whatever else it names (where its metadata, its authorization server and their
endpoints are, where an address has moved) is reached only where the person's own server lives too: one on the public
network sends nobody to addresses of this machine and its networks.
"""

import ipaddress
from collections.abc import Sequence
from typing import Any
from urllib.request import getproxies

import httpx2

from openagent.plugins.addresses import address_of, keeps_keys
from openagent.protocol.errors import OpenAgentError
from openagent.tools.web_address import Guard, Resolve, resolve_host

_ANYWHERE = ("0.0.0.0/0", "::/0")
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
_PORTS = {"http": 80, "https": 443}


class _Way:
    """Where requests may go."""

    def __init__(self, url: str, resolve: Resolve) -> None:
        self._own = httpx2.URL(url)
        self._resolve = resolve
        self._guard: Guard | None = None

    async def address(self, url: httpx2.URL) -> str:
        """One to connect to; empty for the server itself, which needs no checking. Raises where it may not go."""
        if (url.scheme, url.host, _port(url)) == (self._own.scheme, self._own.host, _port(self._own)):
            return ""
        self._guard = self._guard or Guard(await self._neighbourhood(), self._resolve)
        try:
            return await self._guard.address_of(url.host, _port(url))
        except OpenAgentError as problem:
            raise OpenAgentError(
                "permission_denied",
                f"The MCP server at {self._own.host} sends us to {url.host}, where it may not: {problem.info.message}",
                hint="A server on the public network can send nobody to this machine or its networks.",
            ) from None

    async def _neighbourhood(self) -> Sequence[str]:
        """What is as near as the server is."""
        try:
            found = [address_of(each) for each in await self._resolve(self._own.host, _port(self._own))]
        except OSError:
            return ()
        known = [each for each in found if each is not None]
        if known and all(each.is_loopback for each in known):
            return _ANYWHERE
        if known and all(_is_private(each) and not keeps_keys(each) for each in known):
            return _PRIVATE
        return ()


class _PinnedTransport(httpx2.AsyncHTTPTransport):
    """The connection goes to the address that was checked, whatever the name stands for by now."""

    def __init__(self, way: _Way) -> None:
        super().__init__()
        self._way = way

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if address := await self._way.address(request.url):
            request = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
            )
        return await super().handle_async_request(request)


def guarded_client(url: str, *, resolve: Resolve = resolve_host, **settings: Any) -> httpx2.AsyncClient:
    """A client for the server at `url`."""
    way = _Way(url, resolve)
    if not getproxies():
        return httpx2.AsyncClient(transport=_PinnedTransport(way), **settings)

    async def check(request: httpx2.Request) -> None:
        await way.address(request.url)  # the proxy finds its own way there

    hooks = dict(settings.pop("event_hooks", {}))
    return httpx2.AsyncClient(event_hooks={**hooks, "request": [check, *hooks.get("request", ())]}, **settings)


def _port(url: httpx2.URL) -> int:
    return url.port or _PORTS.get(url.scheme, 0)


def _is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return any(
        address.version == network.version and address in network for network in map(ipaddress.ip_network, _PRIVATE)
    )
