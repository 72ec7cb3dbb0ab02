"""Which addresses on the network a tool may connect to: public ones, decided on the address and not on the name."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence

from openagent.plugins.addresses import Address, is_here, is_public
from openagent.plugins.jail import NeverReached, reach_anything
from openagent.protocol.errors import OpenAgentError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]


async def resolve_host(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """`reachable` are networks that may be reached although they are not public, and `names` hosts that a person gave
    an address."""

    def __init__(
        self,
        reachable: Sequence[str] = (),
        resolve: Resolve = resolve_host,
        names: Mapping[str, str] | None = None,
        never: NeverReached = reach_anything,
    ) -> None:
        self._names = names or {}
        self._never = never
        self._reachable: list[Network] = [ipaddress.ip_network(network) for network in reachable]
        self._resolve = resolve

    async def address_of(self, host: str, port: int) -> str:
        """One to connect to. A name that has any forbidden address is refused altogether."""
        found = [self._names[host]] if host in self._names else await self._looked_up(host, port)
        if why := await self._never(host, port, found):
            raise OpenAgentError("permission_denied", f"{host}:{port} is not fetched from: {why}.")
        return found[0]

    async def _looked_up(self, host: str, port: int) -> list[str]:
        try:
            found = await self._resolve(host, port)
        except OSError as problem:
            raise OpenAgentError("tool_error", f"{host} has no address: {problem.strerror or problem}.") from None
        for text in found:
            if not self._allowed(ipaddress.ip_address(text.split("%")[0])):
                raise OpenAgentError(
                    "permission_denied", f"{host} is {text}: addresses of this machine and its networks are off limits."
                )
        if not found:
            raise OpenAgentError("tool_error", f"{host} has no address.")
        return found

    def _allowed(self, address: Address) -> bool:
        if any(address.version == network.version and address in network for network in self._reachable):
            return True
        return is_public(address) and not is_here(address)
