"""The bytes behind each answer.

Requests of one session grow at their end, so only what follows the part shared with the session's previous request
is kept. A chain of such differences begins with a keyframe, a request kept whole, and is never longer than
CHAIN_LENGTH, so reading one exchange reads few rows and old exchanges can be dropped chain by chain.
"""

import zlib
from collections import OrderedDict
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from openagent.plugins.store import RawAnswer
from openagent.protocol.conversation import RawExchange
from openagent.protocol.errors import OpenAgentError
from openagent.store.hot import Gathering, HotStatement
from openagent.store.tables import raw_exchanges

CHAIN_LENGTH = 32
KEPT_EXCHANGES = 500
PART_LIMIT = 256 * 1024
"""Bytes kept of a request beyond what it shares with the one before, and of a response."""
KEYFRAME_LIMIT = 1024 * 1024
"""Bytes kept of a keyframe, so that a long conversation's keyframes still hold its newest messages."""
REMEMBERED_BYTES = 16 * 1024 * 1024
"""Of newest requests, over all sessions of a store."""
_COMPRESSION_LEVEL = 1
_SMALL = 4 * 1024
_SMALL_WINDOW, _SMALL_MEMORY = 12, 4
"""What zlib sets up before it compresses: for most exchanges its usual size takes longer than the work itself."""

_insert_exchange = HotStatement(insert(raw_exchanges))
_of_session = raw_exchanges.c.session_id == bindparam("session")
_one_exchange = select(raw_exchanges).where(_of_session, raw_exchanges.c.message_number == bindparam("number"))
_chain = select(
    raw_exchanges.c.message_number, raw_exchanges.c.base, raw_exchanges.c.shared_length, raw_exchanges.c.request
).where(_of_session, raw_exchanges.c.message_number.between(bindparam("keyframe"), bindparam("number")))
_newest_exchange = (
    select(raw_exchanges.c.message_number, raw_exchanges.c.keyframe, raw_exchanges.c.truncated)
    .where(_of_session)
    .order_by(raw_exchanges.c.message_number.desc())
    .limit(1)
)
_oldest_kept = (
    select(raw_exchanges.c.message_number)
    .where(_of_session)
    .order_by(raw_exchanges.c.message_number.desc())
    .limit(1)
    .offset(KEPT_EXCHANGES - 1)
)
_oldest_keyframe_in_use = select(func.min(raw_exchanges.c.keyframe)).where(
    _of_session, raw_exchanges.c.message_number >= bindparam("oldest")
)
_drop_before = delete(raw_exchanges).where(_of_session, raw_exchanges.c.message_number < bindparam("number"))


class Remembered(Struct, frozen=True):
    """The newest request of a session, as far as it was kept, and its place in its chain."""

    message_number: int
    keyframe: int
    position: int
    request: bytes


class RecentRequests:
    """The newest request of each busy session. What is forgotten is read back from its chain."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._requests: OrderedDict[str, Remembered] = OrderedDict()

    def get(self, session: str) -> Remembered | None:
        return self._requests.get(session)

    def put(self, session: str, remembered: Remembered) -> None:
        self.forget(session)
        self._requests[session] = remembered
        self._size += len(remembered.request)
        while self._size > self._limit:
            self.forget(next(iter(self._requests)))

    def forget(self, session: str) -> None:
        if forgotten := self._requests.pop(session, None):
            self._size -= len(forgotten.request)


def insert_exchange(
    connection: Connection, into: Connection | Gathering, session: str, raw: RawAnswer, previous: Remembered | None
) -> Remembered:
    """Returns what to remember once the transaction is through."""
    previous = previous or _newest(connection, session)
    shared = 0 if previous is None else shared_length(previous.request, raw.request)
    number = raw.message_number
    if previous is None or previous.position + 1 >= CHAIN_LENGTH or shared * 2 < len(raw.request):
        kept = raw.request[:KEYFRAME_LIMIT]
        row = {"keyframe": number, "base": None, "shared_length": 0, "request": _compress(kept)}
        remembered = Remembered(number, keyframe=number, position=0, request=kept)
    else:
        rest = raw.request[shared : shared + PART_LIMIT]
        kept = raw.request if shared + len(rest) == len(raw.request) else raw.request[: shared + len(rest)]
        base = previous.message_number
        row = {"keyframe": previous.keyframe, "base": base, "shared_length": shared, "request": _compress(rest)}
        remembered = Remembered(number, keyframe=previous.keyframe, position=previous.position + 1, request=kept)
    row |= {
        "session_id": session,
        "message_number": number,
        "truncated": len(kept) < len(raw.request) or len(raw.response) > PART_LIMIT,
        "response": _compress(raw.response[:PART_LIMIT]),
    }
    _insert_exchange.run(into, [row])
    if row["base"] is None:
        _drop_oldest(connection, session)
    return remembered


def _newest(connection: Connection, session: str) -> Remembered | None:
    row = connection.execute(_newest_exchange, {"session": session}).first()
    if row is None or row.truncated:
        return None
    bounds = {"session": session, "keyframe": row.keyframe, "number": row.message_number}
    chain = {link.message_number: link for link in connection.execute(_chain, bounds)}
    request = _rebuild(chain, row.message_number)
    return Remembered(row.message_number, keyframe=row.keyframe, position=len(chain) - 1, request=request)


def _drop_oldest(connection: Connection, session: str) -> None:
    oldest = connection.execute(_oldest_kept, {"session": session}).scalar()
    if oldest is not None:
        first = connection.execute(_oldest_keyframe_in_use, {"session": session, "oldest": oldest}).scalar_one()
        connection.execute(_drop_before, {"session": session, "number": first})


def exchange(connection: Connection, session: str, number: int) -> RawExchange:
    row = connection.execute(_one_exchange, {"session": session, "number": number}).mappings().first()
    if row is None:
        raise OpenAgentError(
            "not_found",
            f"No raw request and response are kept for message {number} of session {session}.",
            hint=f"Only answers of a model have them, and only the newest {KEPT_EXCHANGES} are kept.",
        )
    bounds = {"session": session, "keyframe": row["keyframe"], "number": number}
    chain = {link.message_number: link for link in connection.execute(_chain, bounds)}
    return RawExchange(
        request=_rebuild(chain, number).decode(errors="replace"),
        response=zlib.decompress(row["response"]).decode(errors="replace"),
        truncated=row["truncated"],
    )


def _rebuild(chain: dict[int, Any], number: int) -> bytes:
    """From the end backwards: of each link only as much is wanted as its successor shares with it."""
    pieces: list[bytes] = []
    wanted: int | None = None
    step: int | None = number
    while step is not None:
        link = chain[step]
        if wanted is None or wanted > link.shared_length:
            piece = zlib.decompress(link.request)
            pieces.append(piece if wanted is None else piece[: wanted - link.shared_length])
            wanted = link.shared_length
        step = link.base
    return b"".join(reversed(pieces))


def _compress(data: bytes) -> bytes:
    if len(data) > _SMALL:
        return zlib.compress(data, _COMPRESSION_LEVEL)
    small = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, _SMALL_WINDOW, _SMALL_MEMORY)
    return small.compress(data) + small.flush()


def shared_length(first: bytes, second: bytes) -> int:
    """How many bytes both begin with. Compares slices, halving the range in question, at the speed of memcmp."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if second.startswith(first[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
