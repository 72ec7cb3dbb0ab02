"""Several daemons may share a database; a session is in the hands of one of them at a time.

A daemon says from time to time that it lives, once for all its sessions. Who takes a session writes its name into the
session's row, and every later write of that row says whose it is: nothing is asked or written for it step by step.
"""

import time
from collections.abc import Sequence

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    and_,
    cast,
    delete,
    extract,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from openagent.plugins.store import Holder, StoredSession, Whereabouts
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import AT_REST, SessionInfo
from openagent.store import sessions as stored_sessions
from openagent.store.tables import daemons, sessions

_LONG_DEAD_S = 86_400.0


def register(connection: Connection, holder: Holder, lease_s: float) -> float:
    now = _now(connection)
    over = or_(daemons.c.place == holder.place, daemons.c.alive_until < now - _LONG_DEAD_S)
    connection.execute(delete(daemons).where(over))
    _introduce(connection, holder, lease_s)
    return connection.execute(select(func.max(sessions.c.updated_at))).scalar() or 0.0


def _introduce(connection: Connection, holder: Holder, lease_s: float) -> None:
    who = {"id": holder.id, "pid": holder.pid, "host": holder.host, "home": holder.home, "place": holder.place}
    connection.execute(insert(daemons).values(**who, alive_until=_now(connection) + lease_s))


def renew(connection: Connection, holder: Holder, lease_s: float) -> bool:
    """False: it comes too late, and others may have taken sessions of this daemon meanwhile."""
    mine = daemons.c.id == holder.id
    in_time = connection.execute(select(daemons.c.id).where(mine, _lives(connection))).first() is not None
    again = update(daemons).where(mine).values(alive_until=_now(connection) + lease_s)
    if connection.execute(again).rowcount == 0:
        _introduce(connection, holder, lease_s)
    return in_time


def resign(connection: Connection, holder: Holder) -> None:
    connection.execute(delete(daemons).where(daemons.c.id == holder.id))


def take(connection: Connection, session: str, holder: Holder) -> StoredSession:
    owner = connection.execute(select(sessions.c.daemon).where(sessions.c.id == session)).scalar()
    if owner != holder.id:
        free = update(sessions).where(sessions.c.id == session, is_free(connection)).values(daemon=holder.id)
        taken = connection.execute(free).rowcount
        stored = stored_sessions.one(connection, session)
        if not taken and stored.info.id == session:
            raise held_elsewhere(connection, session)
        return stored
    return stored_sessions.one(connection, session)


def give_back(connection: Connection, session: str, holder: Holder) -> None:
    mine = and_(sessions.c.id == session, sessions.c.daemon == holder.id)
    connection.execute(update(sessions).where(mine).values(daemon=None))


def kept(connection: Connection, holder: Holder) -> list[str]:
    return list(connection.execute(select(sessions.c.id).where(sessions.c.daemon == holder.id)).scalars())


def whereabouts(connection: Connection, session: str) -> Whereabouts:
    info = stored_sessions.one(connection, session).info
    living = select(daemons.c.id).join(sessions, sessions.c.daemon == daemons.c.id)
    holder = connection.execute(living.where(sessions.c.id == info.id, _lives(connection))).scalar()
    return Whereabouts(info.id, holder or "", info)


def living(connection: Connection) -> list[str]:
    return list(connection.execute(select(daemons.c.id).where(_lives(connection))).scalars())


def is_free(connection: Connection) -> ColumnElement[bool]:
    """No living daemon has it."""
    living = select(daemons.c.id).where(daemons.c.id == sessions.c.daemon, _lives(connection))
    return ~living.exists()


def told_truly(connection: Connection, infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Work that no living daemon has is no work any more: whatever it last said of itself, it was interrupted."""
    busy = [info.id for info in infos if info.status not in AT_REST]
    if not busy:
        return list(infos)
    ended = set(connection.execute(select(sessions.c.id).where(sessions.c.id.in_(busy), is_free(connection))).scalars())
    return [msgspec.structs.replace(info, status="interrupted") if info.id in ended else info for info in infos]


def held_elsewhere(connection: Connection, session: str) -> OpenAgentError:
    owner = select(daemons).join(sessions, sessions.c.daemon == daemons.c.id).where(sessions.c.id == session)
    who = connection.execute(owner).mappings().first()
    if who is None:
        return OpenAgentError("conflict", f"Another daemon has the session {session}.", hint="Try again in a moment.")
    return OpenAgentError(
        "conflict",
        f"Another daemon on this store has the session {session}: pid {who['pid']} on {who['host']}, "
        f"home {who['home']}.",
        hint=f"Use it there (OPENAGENT_HOME={who['home']}), or stop that daemon. If it was killed, the session is free "
        "half a minute after.",
    )


def _lives(connection: Connection) -> ColumnElement[bool]:
    # A time far ahead was written before the clock was set back, and says nothing.
    now = _now(connection)
    return and_(daemons.c.alive_until > now, daemons.c.alive_until < now + _LONG_DEAD_S)


def _now(connection: Connection) -> ColumnElement[float]:
    """By one clock for all: the server's, or the one of the machine that the file is on."""
    if connection.dialect.name == "postgresql":
        return cast(extract("epoch", func.clock_timestamp()), Float)
    return literal(time.time())
