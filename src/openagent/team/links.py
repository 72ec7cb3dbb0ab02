"""Redis, as far as gateways and workers speak through it: streams that are read in order, and signs of life.

What is written here is never the only copy of anything: when Redis is gone, or loses all it had, `lost` says so, and
whoever follows something looks into the store.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec
from redis import asyncio as redis
from redis.exceptions import RedisError

from openagent.protocol.errors import OpenAgentError
from openagent.team.closed_redis import require_closed
from openagent.team.frames import Sign, read_sign, sign_of, told_to
from openagent.team.seal import Seal

SIGN_EVERY = 2.0
_BLOCK_MS = 1000
_ANSWERS_WITHIN = 10.0
_KEPT = 20_000
"""Entries of a stream that nobody reads; who reads is never so far behind."""
_AT_ONCE = 500
_MOST_UNSENT = 64 * 1024 * 1024
_log = logging.getLogger(__name__)
Fields = Mapping[str, str | bytes | int]
Entry = dict[bytes, bytes]


class Links:
    def __init__(self, url: str, lasts: float) -> None:
        """`lasts`: seconds after which one who gave no sign of life is not asked any more."""
        self._url = url
        self._lasts_ms = round(lasts * 1000)
        self._redis: Any = redis.from_url(url, socket_timeout=_ANSWERS_WITHIN, socket_connect_timeout=5)
        self._unsent: list[tuple[str, Fields]] = []
        self._unsent_bytes = 0
        self._for_gateways: list[Fields] = []
        self._something = asyncio.Event()
        self._looked = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.is_up = False
        self.workers: dict[str, Sign] = {}
        """Those that can be asked."""
        self.gateways: set[str] = set()
        self.before_writing: Callable[[], None] = lambda: None
        """What was sent so far is written now, as it is."""

    def start(
        self,
        *,
        seal: Seal,
        sign: Callable[[], tuple[list[str], Sign]],
        stream: Mapping[str, Callable[[Entry], None]],
        lost: Callable[[], None],
        looked: Callable[[], Awaitable[None]],
    ) -> None:
        """`sign` names the keys that say that this process lives; `stream` who hears what comes in which stream;
        `lost` is called when something that was written may not have come, `looked` after every look at who lives."""
        self._lost = lost
        self._seal = seal
        self._tasks = [
            asyncio.create_task(self._write(), name="team writer"),
            asyncio.create_task(self._live(sign, looked), name="team signs"),
            *(asyncio.create_task(self._read(name, hear), name="team reader") for name, hear in stream.items()),
        ]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._redis.aclose()

    def _is_down(self, problem: Exception) -> None:
        if self.is_up:
            _log.warning("Redis unreachable, retrying", extra={"reason": str(problem)})
        self.is_up = False

    async def _is_there(self) -> None:
        self.is_up = True
        _log.info("Redis connected")
        try:
            await require_closed(self._url)
        except OpenAgentError as problem:  # another one than at the start
            _log.error("Redis accepts connections without a password", extra={"reason": str(problem)})

    # Writing

    def send(self, stream: str, fields: Fields) -> None:
        """Never waits. What cannot be written for long is dropped, and `lost` told."""
        size = sum(len(value) for value in fields.values() if not isinstance(value, int))
        if self._unsent_bytes + size > _MOST_UNSENT:
            self._drop()
            return
        self._unsent.append((stream, fields))
        self._unsent_bytes += size
        self._something.set()

    def tell_gateways(self, fields: Fields) -> None:
        """Sends it to every gateway that is alive when it is written, even one that started a moment ago."""
        self._for_gateways.append(fields)
        self._something.set()

    @property
    def unsent(self) -> int:
        return self._unsent_bytes

    def _drop(self) -> None:
        self._unsent.clear()
        self._for_gateways.clear()
        self._unsent_bytes = 0
        self._lost()

    async def _write(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            self.before_writing()
            batch, self._unsent = self._unsent, []
            for_gateways, self._for_gateways = self._for_gateways, []
            self._unsent_bytes = 0
            if not batch and not for_gateways:
                continue
            try:
                if for_gateways:
                    self.gateways = set(await self._signs("gateway"))
                    batch += [(told_to(gateway), fields) for gateway in self.gateways for fields in for_gateways]
                async with self._redis.pipeline(transaction=False) as pipe:
                    for stream, fields in batch:
                        pipe.xadd(stream, self._seal.seal(stream, fields), maxlen=_KEPT, approximate=True)
                    for stream in {stream for stream, _ in batch}:
                        pipe.expire(stream, 600)
                    await pipe.execute()
            except (RedisError, OSError) as problem:
                self._is_down(problem)
                self._drop()
                await asyncio.sleep(0.5)

    # Reading

    async def _read(self, stream: str, hear: Callable[[Entry], None]) -> None:
        last, before = "0", time.monotonic()
        while True:
            try:
                found: list[Any] = await self._redis.xread({stream: last}, count=_AT_ONCE, block=_BLOCK_MS)
                if time.monotonic() - before > self._lasts_ms / 1000:
                    # This process stood still. Whoever asked has long been told that nobody answers.
                    found, last = [], await self._newest(stream, last)
                    self._lost()
                before = time.monotonic()
            except (RedisError, OSError) as problem:
                self._is_down(problem)
                self._lost()
                await asyncio.sleep(0.5)
                before = time.monotonic()
                continue
            for _, entries in found:
                for number, fields in cast("list[tuple[bytes, Entry]]", entries):
                    last = number.decode()
                    try:
                        if self._seal.holds(stream, fields):
                            hear(fields)
                    except Exception:  # the supervisor: one entry that cannot be read takes no other with it
                        _log.exception("message from Redis could not be handled")

    async def _newest(self, stream: str, last: str) -> str:
        entries = cast("list[tuple[bytes, Entry]]", await self._redis.xrevrange(stream, count=1))
        return entries[0][0].decode() if entries else last

    # Who lives

    async def _live(self, sign: Callable[[], tuple[list[str], Sign]], looked: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await self._look(*sign())
                if not self.is_up:
                    await self._is_there()
            except (RedisError, OSError) as problem:
                self._is_down(problem)
            self._looked.set()
            self._looked.clear()
            try:
                await looked()
            except Exception:  # the supervisor: the next look may go better
                _log.exception("handling a change of live workers failed, retrying")
            await asyncio.sleep(SIGN_EVERY if self.is_up else 0.5)

    async def _look(self, keys: list[str], sign: Sign) -> None:
        body = msgspec.json.encode(sign)
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.set(key, msgspec.msgpack.encode(self._seal.seal(key, {"b": body})), px=self._lasts_ms)
            await pipe.execute()
        self.workers = {name: read_sign(body) for name, body in (await self._signs("worker")).items()}
        self.gateways = set(await self._signs("gateway"))

    async def _signs(self, role: str) -> dict[str, bytes]:
        pattern = sign_of(role, "*")
        keys = [key async for key in self._redis.scan_iter(match=pattern, count=1000)]
        bodies = cast("list[bytes | None]", await self._redis.mget(keys) if keys else [])
        found = dict[str, bytes]()
        for key, body in zip((key.decode() for key in keys), bodies, strict=True):
            if body and (sign := self._unsealed(key, body)) is not None:
                found[key.rpartition(":")[2]] = sign
        return found

    def _unsealed(self, key: str, body: bytes) -> bytes | None:
        try:
            said = msgspec.msgpack.decode(body, type=dict[bytes, bytes])
        except msgspec.DecodeError:
            said = dict[bytes, bytes]()
        return said[b"b"] if self._seal.holds(key, said, once=False) else None

    async def next_look(self) -> None:
        """Returns when it was looked again who lives."""
        await self._looked.wait()

    async def withdraw(self, keys: list[str]) -> None:
        """At the end, so that nobody waits for the signs to run out."""
        try:
            await self._redis.delete(*keys)
        except (RedisError, OSError) as problem:
            _log.info(
                "shutdown could not be announced; others notice when the heartbeat expires",
                extra={"reason": str(problem)},
            )
