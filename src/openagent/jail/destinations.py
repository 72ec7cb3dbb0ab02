"""Where a host leads that a program in a jail asks for, found out before anybody is asked whether it may go there.

Names of this machine and its network are looked up before, others when somebody allowed them: to look one up is to tell
its servers what was asked for, and what a program makes up as a name could be what it has read.
"""

import asyncio
import functools
import os
import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openagent.plugins.addresses import HERE, address_of, is_here, is_public, keeps_keys, own_meaning, written
from openagent.plugins.jail import HOST_NAME, NeverReached

OWN_ADDRESSES = ("127.0.0.1", "::1")
_LOOKED_UP_WITHIN = 20.0
_NEAR_ENDS = (".internal", ".lan", ".home.arpa", ".home", ".corp", ".intranet", ".private", ".localdomain")
"""Nobody on the public network answers for these."""
_HOSTS = "/etc/hosts"
_RESOLVER = "/etc/resolv.conf"


class Destination(NamedTuple):
    host: str
    """As people are asked about it: `localhost` for this machine, however it was written."""
    port: int
    addresses: tuple[str, ...] = ()
    """Where to connect. None: it is a name that is looked up once somebody allowed it."""
    also: tuple[str, ...] = ()
    """How else it is written: what is forbidden by any of its names is."""
    never: str = ""
    """Why it is not reached, whoever allows it."""


async def find(host: str, port: int, names: Mapping[str, str], never: NeverReached) -> Destination:
    """`names` are a person's own, each with the address it stands for, wherever that is."""
    found = await _find(host, port, names)
    return await _kept(found, never)


async def _find(host: str, port: int, names: Mapping[str, str]) -> Destination:
    if address := names.get(host):
        return _guarded(Destination(host, port, (address,)))
    name = written(host)
    if name in names:
        return _guarded(Destination(name, port, (names[name],)))
    if (literal := address_of(host)) is not None:
        meant = own_meaning(literal) or address_of(name) or literal
        addresses = OWN_ADDRESSES if meant.is_unspecified else (str(meant),)
        return _guarded(Destination(name, port, addresses, (host, str(meant))))
    if name == HERE:
        return Destination(name, port, OWN_ADDRESSES, (host,) if host != HOST_NAME else ())
    found = Destination(name, port)
    return await _look_up_near(found) if await asyncio.to_thread(_is_near, name) else found


async def look_up(destination: Destination, never: NeverReached) -> Destination:
    """A name that somebody allowed. It stays without addresses when it has none."""
    return await _kept(await _look_up(destination), never)


async def _kept(destination: Destination, never: NeverReached) -> Destination:
    if destination.never:
        return destination
    return destination._replace(never=await never(destination.host, destination.port, destination.addresses))


async def _look_up(destination: Destination) -> Destination:
    found = await _addresses(destination)
    here, near = _nearer(found)
    if here or near:
        return destination._replace(never=_why_not(destination.host, (here or near)[0], here=bool(here)))
    return destination._replace(addresses=tuple(found))


async def _look_up_near(destination: Destination) -> Destination:
    """A name that is looked up without telling anybody outside: one of this machine is this machine."""
    found = await _addresses(destination)
    here, _ = _nearer(found)
    if here and len(here) == len(found):
        return _guarded(destination._replace(host=HERE, addresses=tuple(found), also=(destination.host, *found)))
    return await _look_up(destination) if found else destination


async def _addresses(destination: Destination) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_LOOKED_UP_WITHIN):
            found = await loop.getaddrinfo(destination.host, destination.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return []
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def _nearer(addresses: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those of this machine, and others that are not the public network's."""
    here, near = list[str](), list[str]()
    for text in addresses:
        address = address_of(text)
        if address is not None and is_here(address):
            here.append(text)
        elif address is None or not is_public(address):
            near.append(text)
    return here, near


def _why_not(name: str, address: str, *, here: bool) -> str:
    whose = "this machine" if here else "of this machine's network"
    return (
        f"{name} leads to {address}, which is {whose}, and no name leads there by itself. "
        f'Whoever looks after this machine can let it: `names = {{ "{name}" = "{address}" }}` under [jail]'
    )


def _guarded(destination: Destination) -> Destination:
    for text in destination.addresses:
        address = address_of(text)
        if address is not None and keeps_keys(address):
            why = f"{text} is never reached: clouds keep the keys of their machines at such addresses"
            return destination._replace(never=why)
    return destination


def _is_near(name: str) -> bool:
    """Whether to look it up tells nobody on the public network of it."""
    return (
        "." not in name
        or name.endswith(_NEAR_ENDS)
        or name in _listed(_HOSTS, _changed(_HOSTS), ())
        or any(name.endswith(f".{end}") for end in _listed(_RESOLVER, _changed(_RESOLVER), ("search", "domain")))
    )


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=4)
def _listed(path: str, changed: int, keys: tuple[str, ...]) -> frozenset[str]:
    """Names in lines that begin with one of the keys; none: with anything."""
    del changed
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.partition("#")[0].lower().split() for line in file]
    except OSError:
        return frozenset()
    words = (word.strip(".") for line in lines if line and (not keys or line[0] in keys) for word in line[1:])
    return frozenset(word for word in words if "." in word)
