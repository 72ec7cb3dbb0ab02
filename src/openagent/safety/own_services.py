"""What the installation itself lives on: its database, its Redis, its buckets and its daemons.

Whoever reaches these is everybody here: nobody opens a sandbox to them, whatever they may otherwise allow.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from openagent.config.settings import Settings
from openagent.plugins.addresses import HERE, address_of, is_here, is_public, meanings, written
from openagent.protocol import locations

_KNOWN_FOR = 30.0
_LOOKED_UP_WITHIN = 5.0
_WEB = (80, 443)
_PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379}
_POSTGRES_PORT = 5432
_POSTGRES_SOCKETS = ("/var/run/postgresql", "/tmp")  # noqa: S108 -- where its clients look when no host is named
_LOGGED_AGAIN_AFTER = 60.0
_MOST_LOGGED = 1000
_log = logging.getLogger(__name__)


class Service(NamedTuple):
    what: str
    host: str
    port: int
    below: bool = False
    """Also the names below it: a bucket's."""


class OwnServices:
    def __init__(self, settings: Settings, env: Mapping[str, str], web_url: Callable[[], str]) -> None:
        """`web_url` is where this daemon's own web interface is now; empty: nowhere."""
        self._services = list(_services(settings, env))
        self.sockets = list(_sockets(settings, env))
        """Places of the file system where they are to be reached."""
        self._web_url = web_url
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._logged: dict[tuple[str, int], float] = {}

    async def why_never(self, host: str, port: int, addresses: Sequence[str] = ()) -> str:
        """Why nobody can open a sandbox to it; empty when it is none of them. `addresses`: where the host leads, as far
        as that is known."""
        name = written(host)
        if not addresses and address_of(host) is not None:
            addresses = (host,)
        theirs = {HERE} if name == HERE else {each for text in addresses for each in _meant(text)}
        for service in (*self._services, *_web(self._web_url())):
            if service.port == port and await self._is(service, name, theirs):
                self._log(service, name, port)
                return f"it is this installation's {service.what}, which nobody can open to a sandbox"
        return ""

    async def _is(self, service: Service, name: str, theirs: set[str]) -> bool:
        own = written(service.host)
        if name == own or (service.below and name.endswith(f".{own}")):
            return True
        if service.port in _WEB:  # many sites may share one address of the public network
            theirs = {each for each in theirs if not _is_public(each)}
        if not theirs:
            return False
        found = await self._addresses(own)
        return bool(theirs & found) if found else not all(map(_is_public, theirs))

    async def _addresses(self, host: str) -> frozenset[str]:
        """Those of the last lookup that found any; none at all: nobody can tell, and what is near may be it."""
        if host == HERE or address_of(host) is not None:
            return frozenset(_meant(host))
        at, found = self._known.get(host, (0.0, frozenset[str]()))
        if found and time.monotonic() - at < _KNOWN_FOR:
            return found
        try:
            async with asyncio.timeout(_LOOKED_UP_WITHIN):
                infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, TimeoutError, UnicodeError):
            return found
        found = frozenset(each for info in infos for each in _meant(str(info[4][0])))
        self._known[host] = (time.monotonic(), found)
        return found

    def _log(self, service: Service, name: str, port: int) -> None:
        now = time.monotonic()
        if now - self._logged.get((name, port), -_LOGGED_AGAIN_AFTER) < _LOGGED_AGAIN_AFTER:
            return
        if len(self._logged) >= _MOST_LOGGED:
            self._logged.clear()
        self._logged[name, port] = now
        at = f"{name}:{port}"
        _log.warning(
            "connection from a sandbox to this installation's own service refused",
            extra={"what": service.what, "host": at},
        )


def _meant(text: str) -> Iterator[str]:
    address = address_of(text)
    if text == HERE or (address is not None and is_here(address)):
        yield HERE
    elif address is not None:
        yield from map(str, meanings(address))


def _is_public(text: str) -> bool:
    address = address_of(text)
    return address is not None and is_public(address)


def _services(settings: Settings, env: Mapping[str, str]) -> Iterator[Service]:
    if settings.database_url.startswith("postgresql"):
        yield from (Service("database", host, port) for host, port in _postgres_hosts(settings.database_url, env))
    if settings.redis and not settings.redis.startswith("unix:"):
        yield from _of_url("Redis", settings.redis)
    if any(place.startswith("s3://") for place in (settings.backup.folder, settings.team.snapshots)):
        endpoint = settings.backup.s3.endpoint or env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or ""
        yield from (service._replace(below=True) for service in _of_url("bucket", endpoint))
    yield from _web(settings.people.url)
    for given in settings.web.hosts:
        host, _, port = given.rpartition(":") if not given.endswith("]") else ("", "", "")
        ports = (int(port),) if host and port.isdigit() else _WEB
        yield from (Service("daemon", host if host and port.isdigit() else given, each) for each in ports)


def _web(url: str) -> Iterator[Service]:
    yield from _of_url("daemon", url)


def _of_url(what: str, url: str) -> Iterator[Service]:
    if not url:
        return
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return
    host = parts.hostname or HERE
    address = address_of(host)
    yield Service(what, HERE if address is not None and address.is_unspecified else host, port)


def _postgres_hosts(url: str, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """As its client reads them: several, in the address or beside it."""
    for host, port in _postgres_places(url, env):
        if not host.startswith("/"):
            yield host, port


def _postgres_places(url: str, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    hosts, ports = list[str](), list[str]()
    for place in (parts.netloc.rpartition("@")[2] or "").split(","):
        bare, colon, port = place.rpartition(":")
        is_port = bool(colon) and not place.endswith("]")
        hosts.append(unquote(bare if is_port else place).strip("[]"))
        ports.append(port if is_port else "")
    named = [each for key in ("host", "hostaddr") for value in asked.get(key, ()) for each in value.split(",")]
    listed = [each for value in asked.get("port", ()) for each in value.split(",")]
    usual = listed[0] if len(listed) == 1 else env.get("PGPORT", "") or str(_POSTGRES_PORT)
    found = [each for each in zip(hosts, ports, strict=True) if each[0]]
    for number, place in enumerate(named):
        host, colon, port = place.rpartition(":") if place.count(":") == 1 else (place, "", "")
        found.append((host, port if colon else listed[number] if number < len(listed) else ""))
    if not found:
        besides = [each for key in ("PGHOST", "PGHOSTADDR") for each in env.get(key, "").split(",") if each]
        found = [(host, "") for host in besides] or [(host, "") for host in (HERE, *_POSTGRES_SOCKETS)]
    for host, port in found:
        yield host, int(port or usual)


def _sockets(settings: Settings, env: Mapping[str, str]) -> Iterator[Path]:
    yield Path(locations.socket_path(env))
    if settings.redis.startswith("unix:"):
        yield Path(unquote(urlsplit(settings.redis).path))
    if settings.database_url.startswith("postgresql"):
        for host, port in _postgres_places(settings.database_url, env):
            if host.startswith("/"):
                yield Path(host) / f".s.PGSQL.{port}"
