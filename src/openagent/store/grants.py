"""What people allowed in sessions for longer than once."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select

from openagent.plugins.store import KeptGrant
from openagent.store import rows
from openagent.store.tables import grants

_insert = insert(grants)
_delete = delete(grants).where(grants.c.session_id == bindparam("session"), grants.c.id == bindparam("grant"))
_every = select(grants.c.session_id, grants.c.entry)
_of_session = _every.where(grants.c.session_id == bindparam("session"))
_decoder = msgspec.json.Decoder(KeptGrant)


def change(connection: Connection, session: str, granted: Sequence[KeptGrant], revoked: Sequence[str]) -> None:
    """New ones take the place of those with their ids."""
    gone = [{"session": session, "grant": grant} for grant in (*revoked, *(each.id for each in granted))]
    connection.execute(_delete, gone)
    if granted:
        new = [{"session_id": session, "id": each.id, "at": each.at, "entry": rows.to_json(each)} for each in granted]
        connection.execute(_insert, new)


def of_session(connection: Connection, session: str) -> list[KeptGrant]:
    found = connection.execute(_of_session, {"session": session})
    return sorted((_decoder.decode(row.entry) for row in found), key=_age)


def every(connection: Connection) -> list[tuple[str, KeptGrant]]:
    found = connection.execute(_every)
    return sorted(((row.session_id, _decoder.decode(row.entry)) for row in found), key=lambda pair: _age(pair[1]))


def _age(grant: KeptGrant) -> tuple[float, str]:
    """There are few of a session: to sort them is cheaper than an index."""
    return grant.at, grant.id
