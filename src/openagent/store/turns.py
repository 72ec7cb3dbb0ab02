"""How turns ended, and what was kept of an answer that is still streaming."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from openagent.plugins.store import DraftPiece
from openagent.protocol.events import Event, TurnCompleted
from openagent.protocol.sessions import EndedTurn
from openagent.store import rows
from openagent.store.hot import HotStatement
from openagent.store.tables import drafts, turns

_turn = (turns.c.session_id == bindparam("session"), turns.c.turn == bindparam("number"))
_delete_turn = HotStatement(delete(turns).where(*_turn))
_insert_turn = HotStatement(insert(turns))
_ends_between = (
    select(turns.c.record)
    .where(turns.c.session_id == bindparam("session"), turns.c.turn.between(bindparam("first"), bindparam("last")))
    .order_by(turns.c.turn)
)
_insert_piece = HotStatement(insert(drafts))
_delete_pieces = HotStatement(delete(drafts).where(drafts.c.session_id == bindparam("session")))
_pieces_of = select(drafts.c.piece).where(drafts.c.session_id == bindparam("session")).order_by(drafts.c.position)
_end_decoder = msgspec.json.Decoder(EndedTurn)
_piece_decoder = msgspec.json.Decoder(DraftPiece)


def insert_ends(connection: Connection, session: str, events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event, TurnCompleted):
            # The later word counts, should a turn be closed twice.
            _delete_turn.run(connection, [{"session": session, "number": event.turn}])
            row = {"session_id": session, "turn": event.turn, "ended_at": event.at, "reason": event.reason}
            _insert_turn.run(connection, [{**row, "record": rows.to_json(event.ended)}])


def ends(connection: Connection, session: str, first: int, last: int) -> list[EndedTurn]:
    found = connection.execute(_ends_between, {"session": session, "first": first, "last": last}).scalars()
    return [_end_decoder.decode(record) for record in found]


def ended_between(connection: Connection, since: float, until: float) -> list[tuple[str, EndedTurn]]:
    statement = (
        select(turns.c.session_id, turns.c.record)
        .where(turns.c.ended_at >= since, turns.c.ended_at < until)
        .order_by(turns.c.ended_at, turns.c.session_id)
    )
    return [(row.session_id, _end_decoder.decode(row.record)) for row in connection.execute(statement)]


def last_ends(connection: Connection, sessions: Sequence[str]) -> dict[str, EndedTurn]:
    last = (
        select(turns.c.session_id, func.max(turns.c.turn).label("turn"))
        .where(turns.c.session_id.in_(sessions))
        .group_by(turns.c.session_id)
        .subquery()
    )
    same = (turns.c.session_id == last.c.session_id) & (turns.c.turn == last.c.turn)
    found = connection.execute(select(turns.c.session_id, turns.c.record).join(last, same))
    return {row.session_id: _end_decoder.decode(row.record) for row in found}


def keep_piece(connection: Connection, session: str, piece: DraftPiece, anew: bool) -> None:
    if anew:
        drop_draft(connection, session)
    _insert_piece.run(connection, [{"session_id": session, "piece": rows.to_json(piece)}])


def pieces(connection: Connection, session: str) -> list[DraftPiece]:
    found = connection.execute(_pieces_of, {"session": session}).scalars()
    return [_piece_decoder.decode(piece) for piece in found]


def drop_draft(connection: Connection, session: str) -> None:
    _delete_pieces.run(connection, [{"session": session}])
