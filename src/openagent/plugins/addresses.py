"""Which addresses are this machine's and which the public network's: decided on the address, never on a name."""

import ipaddress
import re
import socket

from openagent.plugins.jail import HOST_NAME

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
HERE = "localhost"
"""How this machine is written, however somebody else wrote it."""
_HOLDS_IPV4 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")))
"""In their last 32 bits: for a network without IPv4, and as it was done long ago."""
_NUMBERS = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)
_NOBODYS = ("240.0.0.1", "100::1")
"""Of no interface anywhere."""
_KEYS_OF_CLOUDS = ("100.100.100.200", "fd00:ec2::254")
"""Metadata services that are on no local link."""


def address_of(text: str) -> Address | None:
    """None for what is a name. Also as the system's resolver reads it: `127.1`, `0x7f000001`, `0177.0.0.1`, `0`."""
    text = text.partition("%")[0]
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(text)) if _NUMBERS.fullmatch(text) else None
    except OSError:
        return None


def written(host: str) -> str:
    """The one way to write a host: `localhost` for this machine, an address as it is usually written, or a name in
    small ASCII letters. Asks nobody."""
    name = host.strip("[]").rstrip(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            return name
    name = name.lower().rstrip(".")
    address = address_of(name)
    if address is not None:
        return HERE if is_here(address) else str(meanings(address)[0])
    return HERE if name in (HOST_NAME, HERE) or name.endswith(f".{HERE}") else name


def is_here(address: Address) -> bool:
    """Whether it is this machine's."""
    return own_meaning(address) is not None


def own_meaning(address: Address) -> Address | None:
    """Which of the addresses that it may stand for is this machine's."""
    own = (inner for inner in meanings(address) if inner.is_loopback or inner.is_unspecified or _is_own(inner))
    return next(own, None)


def _is_own(address: Address) -> bool:
    """Of an interface: only such an address can be bound. Where the system lets any be bound, it is the one that
    packets to it would come from."""
    if address.is_multicast:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_STREAM) as bound:
            bound.bind((str(address), 0))
    except OSError:
        return False
    try:
        with socket.socket(family, socket.SOCK_STREAM) as bound:
            bound.bind((_NOBODYS[family == socket.AF_INET6], 0))
    except OSError:
        return True
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as aimed:
            aimed.connect((str(address), 9))
            return ipaddress.ip_address(aimed.getsockname()[0]) == address
    except OSError:
        return False


def is_public(address: Address) -> bool:
    return all(inner.is_global and not inner.is_multicast for inner in meanings(address))


def keeps_keys(address: Address) -> bool:
    """Where clouds tell their machines who they are, secrets included; and the rest of the local link."""
    return any(inner.is_link_local or str(inner) in _KEYS_OF_CLOUDS for inner in meanings(address))


def meanings(address: Address) -> list[Address]:
    """The address, and the IPv4 address that an IPv6 one may stand for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    found: list[Address] = [address]
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found.extend(address.teredo)
    if any(address in network for network in _HOLDS_IPV4) and int(address) > 1:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found
