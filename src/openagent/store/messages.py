"""Queries over messages."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, bindparam, case, insert, literal, or_, select

from openagent.protocol.messages import Message
from openagent.store import rows
from openagent.store.hot import Gathering, HotStatement
from openagent.store.tables import messages

_SIZES_CHUNK = 256
_NUMBER_LIMIT = 2**31 - 1

_insert_messages = HotStatement(insert(messages))
_between = select(messages).where(
    messages.c.session_id == bindparam("session"),
    messages.c.number > bindparam("after"),
    messages.c.number < bindparam("before"),
)
_oldest = _between.order_by(messages.c.number).limit(bindparam("count"))
_newest = _between.order_by(messages.c.number.desc()).limit(bindparam("count"))
_newest_sizes = (
    select(messages.c.number, messages.c.size_tokens)
    .where(
        messages.c.session_id == bindparam("session"),
        messages.c.number > bindparam("after"),
        messages.c.number < bindparam("before"),
    )
    .order_by(messages.c.number.desc())
    .limit(_SIZES_CHUNK)
)
_newest_number = (
    select(messages.c.number)
    .where(messages.c.session_id == bindparam("session"))
    .order_by(messages.c.number.desc())
    .limit(1)
)
_turn_from = (
    select(messages.c.number, messages.c.turn)
    .where(messages.c.session_id == bindparam("session"), messages.c.number >= bindparam("number"))
    .order_by(messages.c.number)
    .limit(1)
)


def insert_messages(into: Connection | Gathering, session: str, new: Sequence[Message]) -> None:
    _insert_messages.run(into, [rows.message_row(session, message) for message in new])


def page(connection: Connection, session: str, limit: int, before: int | None, after: int | None) -> list[Message]:
    bounds = {
        "session": session,
        "after": 0 if after is None else after,
        "before": _NUMBER_LIMIT if before is None else before,
        "count": limit,
    }
    if after is not None:
        return [rows.message(row) for row in connection.execute(_oldest, bounds).mappings()]
    newest = [rows.message(row) for row in connection.execute(_newest, bounds).mappings()]
    newest.reverse()
    return newest


def search(
    connection: Connection, session: str, terms: Sequence[str], within: Sequence[tuple[int, int]], limit: int
) -> list[Message]:
    if not terms or not within:
        return []
    found = [messages.c.parts.icontains(rows.to_json(term)[1:-1], autoescape=True) for term in terms]
    matching = literal(0)
    for each in found:
        matching = matching + case((each, 1), else_=0)
    statement = (
        select(messages)
        .where(
            messages.c.session_id == session,
            or_(*(messages.c.number.between(low, high) for low, high in within)),
            or_(*found),
        )
        .order_by(matching.desc(), messages.c.number.desc())
        .limit(limit)
    )
    return [rows.message(row) for row in connection.execute(statement).mappings()]


def turn_start(connection: Connection, session: str, turn: int) -> int | None:
    """Turns grow with the numbers of their messages: a few looks find one, however long the session is."""

    def turn_from(number: int) -> int:
        return connection.execute(_turn_from, {"session": session, "number": number}).one().turn

    newest = connection.execute(_newest_number, {"session": session}).scalar() or 0
    number = bisect_left(range(newest + 1), turn, lo=1, key=turn_from)
    first = connection.execute(_turn_from, {"session": session, "number": number}).first()
    return first.number if first is not None and first.turn == turn else None


def recent(
    connection: Connection, session: str, token_budget: int, without: Sequence[tuple[int, int]]
) -> list[Message]:
    found: list[Message] = []
    left = token_budget
    for after, before in _newest_gaps(without):
        first, left = _first_within(connection, session, after, before, left, at_least_one=not found)
        if first is not None:
            bounds = {"session": session, "after": first - 1, "before": before}
            rows_between = connection.execute(_between.order_by(messages.c.number), bounds)
            found = [rows.message(row) for row in rows_between.mappings()] + found
        if left < 0:
            break
    return found


def _newest_gaps(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What lies between spans of numbers, as exclusive bounds, the newest first."""
    before = _NUMBER_LIMIT
    for low, high in sorted(spans, key=lambda span: span[1], reverse=True):
        if high + 1 < before:
            yield high, before
        before = min(before, low)
    if before > 1:
        yield 0, before


def _first_within(
    connection: Connection, session: str, after: int, before: int, left: int, *, at_least_one: bool
) -> tuple[int | None, int]:
    """The oldest of the newest messages that fit, and what is left then: less than nothing when one did not fit."""
    first = None
    while True:
        bounds = {"session": session, "after": after, "before": before}
        sizes = connection.execute(_newest_sizes, bounds).all()
        for number, size in sizes:
            left -= size
            if left < 0:
                return (number if first is None and at_least_one else first), left
            first = number
        if len(sizes) < _SIZES_CHUNK:
            return first, left
        before = sizes[-1][0]
