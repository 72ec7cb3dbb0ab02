"""Which addresses are the public network's: decided on the address, never on a name."""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_KEYS_OF_CLOUDS = ("100.100.100.200", "fd00:ec2::254")
"""Metadata services that are on no local link."""


def address_of(text: str) -> Address | None:
    """None for what is a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


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
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found
