"""People, teams, and whom sessions are shared with."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, delete, insert, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from openagent.plugins.access import PendingLogin, PeopleStore, SessionLink, Sharing, StoredPerson
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import GuestInfo, Limits, LinkInfo, PersonInfo, PersonName, TeamInfo
from openagent.store.rows import to_json
from openagent.store.sql_store import SqlStore
from openagent.store.tables import (
    access_tokens,
    pending_logins,
    people,
    session_guests,
    session_links,
    sessions,
    team_members,
    teams,
)

_WRITER = "people"
_limits = msgspec.json.Decoder(Limits)


class SqlPeople:
    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def people(self) -> list[StoredPerson]:
        return await self._store.read(_people, None)

    async def person(self, person: str) -> StoredPerson | None:
        found = await self._store.read(_people, person)
        return found[0] if found else None

    async def save_person(self, person: StoredPerson) -> None:
        await self._store.write(_WRITER, _save_person, person)

    async def remove_person(self, person: str, now: float) -> None:
        await self._store.write(_WRITER, _remove_person, person, now)

    async def came(self, person: str, now: float) -> None:
        await self._store.write(_WRITER, _set, person, {"last_login_at": now})

    async def invite(self, person: str, digest: bytes, until: float) -> None:
        await self._store.write(_WRITER, _set, person, {"invitation": digest, "invited_until": until})

    async def invited(self, digest: bytes, now: float) -> StoredPerson | None:
        return await self._store.read(_invited, digest, now)

    async def join(self, digest: bytes, password: str, now: float) -> bool:
        return await self._store.write(_WRITER, _join, digest, password, now)

    async def password(self, person: str) -> str:
        return await self._store.read(_password, person)

    async def change_password(self, person: str, old: str, new: str) -> bool:
        return await self._store.write(_WRITER, _change_password, person, old, new)

    async def has_passwords(self) -> bool:
        return await self._store.read(_has_passwords)

    async def end_logins(self, person: str, but: str = "") -> list[str]:
        return await self._store.write(_WRITER, _end_logins, person, but)

    async def names(self) -> list[PersonName]:
        return await self._store.read(_names)

    async def role(self, person: str) -> str:
        return await self._store.read(_role, person)

    async def known_to(self, person: str, now: float) -> list[PersonName]:
        return await self._store.read(_known_to, person, now)

    async def teams(self) -> list[TeamInfo]:
        return await self._store.read(_teams)

    async def save_team(self, team: TeamInfo, members: Sequence[str]) -> None:
        await self._store.write(_WRITER, _save_team, team, members)

    async def remove_team(self, team: str) -> None:
        await self._store.write(_WRITER, _remove_team, team)

    async def members(self, team: str) -> list[str]:
        return await self._store.read(_members, team)

    async def keep_login(self, login: PendingLogin) -> None:
        await self._store.write(_WRITER, _keep_login, login)

    async def pending_login(self, login: str) -> PendingLogin | None:
        return await self._store.read(_pending, pending_logins.c.id == login)

    async def shown_login(self, user_code: str) -> PendingLogin | None:
        return await self._store.read(_pending, pending_logins.c.user_code == user_code) if user_code else None

    async def take_login(self, login: str) -> PendingLogin | None:
        return await self._store.write(_WRITER, _take_login, login)

    async def add_link(self, link: SessionLink) -> None:
        await self._store.write(_WRITER, _add_link, link)

    async def use_link(self, digest: bytes, person: str, now: float) -> str | None:
        return await self._store.write(_WRITER, _use_link, digest, person, now)

    async def unlink(self, session: str) -> None:
        await self._store.write(_WRITER, _unlink, session)

    async def sharing(self, session: str, now: float) -> Sharing:
        return await self._store.read(_sharing, session, now)

    async def guest(self, session: str, person: str, now: float) -> bool | None:
        return await self._store.read(_guest, session, person, now)


def _people(connection: Connection, person: str | None) -> list[StoredPerson]:
    statement = select(people).where(people.c.removed_at == 0).order_by(people.c.created_at, people.c.id)
    belonging = select(team_members.c.person, teams.c.id, teams.c.name, teams.c.folder).join_from(team_members, teams)
    if person is not None:
        statement = statement.where(people.c.id == person)
        belonging = belonging.where(team_members.c.person == person)
    of: dict[str, list[Any]] = {}
    for row in connection.execute(belonging.order_by(teams.c.name)):
        of.setdefault(row.person, []).append(row)
    return [_person(row, of.get(row["id"], ())) for row in connection.execute(statement).mappings()]


def _person(row: RowMapping, belonging: Sequence[Any]) -> StoredPerson:
    info = PersonInfo(
        id=row["id"],
        email=row["email"],
        name=row["name"],
        role=row["role"],
        disabled=row["disabled"],
        folder=row["folder"],
        teams=[each.name for each in belonging],
        limits=_limits.decode(row["limits"]),
        created_at=row["created_at"],
        last_login_at=row["last_login_at"],
        password=bool(row["password"]),
        invited_until=row["invited_until"],
    )
    return StoredPerson(
        info,
        row["issuer"],
        row["subject"],
        tuple(each.id for each in belonging),
        (row["folder"], *(each.folder for each in belonging)),
    )


def _known_to(connection: Connection, person: str, now: float) -> list[PersonName]:
    mine = select(team_members.c.team).where(team_members.c.person == person)
    beside = select(team_members.c.person).where(team_members.c.team.in_(mine))
    opened = select(session_guests.c.session_id).where(
        session_guests.c.person == person, session_guests.c.expires_at > now
    )
    hosts = select(sessions.c.owner).where(sessions.c.id.in_(opened))
    left = and_(people.c.removed_at > 0, people.c.id.in_(select(sessions.c.owner).where(sessions.c.team.in_(mine))))
    return _named(connection, or_(people.c.id.in_(beside), people.c.id.in_(hosts), left))


def _names(connection: Connection) -> list[PersonName]:
    return _named(connection, true())


def _named(connection: Connection, which: ColumnElement[bool]) -> list[PersonName]:
    found = select(people.c.id, people.c.email, people.c.name).where(which).order_by(people.c.email, people.c.id)
    return [PersonName(*row) for row in connection.execute(found)]


def _role(connection: Connection, person: str) -> str:
    return connection.execute(select(people.c.role).where(people.c.id == person)).scalar() or ""


def _save_person(connection: Connection, person: StoredPerson) -> None:
    given = msgspec.structs.asdict(person.info)
    given |= {"issuer": person.issuer, "subject": person.subject, "limits": to_json(person.info.limits)}
    for elsewhere in ("teams", "password", "invited_until"):
        del given[elsewhere]
    taken = f"There is already somebody with the address {person.info.email}."
    _put(connection, people, person.info.id, given, taken)


def _set(connection: Connection, person: str, given: dict[str, Any]) -> None:
    connection.execute(update(people).where(people.c.id == person).values(given))


def _is_open(digest: bytes, now: float) -> ColumnElement[bool]:
    return and_(people.c.invitation == digest, people.c.invited_until > now, people.c.disabled.is_(False))


def _invited(connection: Connection, digest: bytes, now: float) -> StoredPerson | None:
    person = connection.execute(select(people.c.id).where(_is_open(digest, now))).scalar()
    found = _people(connection, person) if person else []
    return found[0] if found else None


def _join(connection: Connection, digest: bytes, password: str, now: float) -> bool:
    # Two daemons may see the same link: only who takes it away has it.
    given = {"password": password, "invitation": None, "invited_until": None}
    return bool(connection.execute(update(people).where(_is_open(digest, now)).values(given)).rowcount)


def _password(connection: Connection, person: str) -> str:
    return connection.execute(select(people.c.password).where(people.c.id == person)).scalar() or ""


def _change_password(connection: Connection, person: str, old: str, new: str) -> bool:
    which = update(people).where(people.c.id == person, people.c.password == old)
    return bool(connection.execute(which.values(password=new)).rowcount)


def _has_passwords(connection: Connection) -> bool:
    found = select(people.c.id).where(people.c.password != "", people.c.removed_at == 0)
    return connection.execute(found.limit(1)).first() is not None


def _end_logins(connection: Connection, person: str, but: str) -> list[str]:
    theirs = and_(access_tokens.c.person == person, access_tokens.c.id != but)
    ended = list(connection.execute(select(access_tokens.c.id).where(theirs)).scalars())
    connection.execute(delete(access_tokens).where(access_tokens.c.id.in_(ended)))
    # A terminal that was let in as them, and has not fetched its token yet.
    for row in connection.execute(select(pending_logins.c.id, pending_logins.c.data)).all():
        if person.encode() in bytes(row.data):
            connection.execute(delete(pending_logins).where(pending_logins.c.id == row.id))
    return ended


def _remove_person(connection: Connection, person: str, now: float) -> None:
    for column in (access_tokens.c.person, team_members.c.person, session_guests.c.person):
        connection.execute(delete(column.table).where(column == person))
    # An older process of the team knows no removed people, and lets in nobody who is suspended.
    gone = {"removed_at": now, "disabled": True, "issuer": "", "subject": ""}
    _set(connection, person, {**gone, "password": "", "invitation": None, "invited_until": None})


def _put(connection: Connection, table: Table, key: str, row: dict[str, Any], taken: str) -> None:
    try:
        if not connection.execute(update(table).where(table.c.id == key), row).rowcount:
            connection.execute(insert(table), {**row, "id": key})
    except IntegrityError:
        raise OpenAgentError("conflict", taken, hint="Choose another.") from None


def _teams(connection: Connection) -> list[TeamInfo]:
    emails: dict[str, list[str]] = {}
    who = select(team_members.c.team, people.c.email).join_from(team_members, people).order_by(people.c.email)
    for team, email in connection.execute(who):
        emails.setdefault(team, []).append(email)
    return [
        TeamInfo(row["id"], row["name"], row["folder"], emails.get(row["id"], []), _limits.decode(row["limits"]))
        for row in connection.execute(select(teams).order_by(teams.c.name)).mappings()
    ]


def _save_team(connection: Connection, team: TeamInfo, members: Sequence[str]) -> None:
    given = {"name": team.name, "folder": team.folder, "limits": to_json(team.limits)}
    _put(connection, teams, team.id, given, f"There is already a team {team.name!r}.")
    connection.execute(delete(team_members).where(team_members.c.team == team.id))
    if members:
        connection.execute(insert(team_members), [{"team": team.id, "person": each} for each in members])


def _remove_team(connection: Connection, team: str) -> None:
    connection.execute(update(sessions).where(sessions.c.team == team).values(team=""))
    connection.execute(delete(teams).where(teams.c.id == team))


def _members(connection: Connection, team: str) -> list[str]:
    return list(connection.execute(select(team_members.c.person).where(team_members.c.team == team)).scalars())


def _keep_login(connection: Connection, login: PendingLogin) -> None:
    gone = or_(pending_logins.c.expires_at < time.time(), pending_logins.c.id == login.id)
    connection.execute(delete(pending_logins).where(gone))
    connection.execute(insert(pending_logins), msgspec.structs.asdict(login))


def _pending(connection: Connection, which: ColumnElement[bool]) -> PendingLogin | None:
    row = connection.execute(select(pending_logins).where(which)).mappings().first()
    if row is None:
        return None
    return PendingLogin(row["id"], row["user_code"], bytes(row["data"]), row["expires_at"])


def _take_login(connection: Connection, login: str) -> PendingLogin | None:
    found = _pending(connection, pending_logins.c.id == login)
    # Two daemons may see the same one come back: only who deletes it has it.
    return found if connection.execute(delete(pending_logins).where(pending_logins.c.id == login)).rowcount else None


def _add_link(connection: Connection, link: SessionLink) -> None:
    given = {**msgspec.structs.asdict(link), "session_id": link.session}
    del given["session"]
    connection.execute(insert(session_links), given)


def _use_link(connection: Connection, digest: bytes, person: str, now: float) -> str | None:
    wanted = select(session_links).where(session_links.c.digest == digest, session_links.c.expires_at > now)
    row = connection.execute(wanted).mappings().first()
    if row is None:
        return None
    theirs = session_guests.c.session_id == row["session_id"], session_guests.c.person == person
    connection.execute(delete(session_guests).where(*theirs))
    guest = {key: row[key] for key in ("session_id", "writes", "expires_at")}
    connection.execute(insert(session_guests), {**guest, "person": person})
    return row["session_id"]


def _unlink(connection: Connection, session: str) -> None:
    for table in (session_links, session_guests):
        connection.execute(delete(table).where(table.c.session_id == session))


def _sharing(connection: Connection, session: str, now: float) -> Sharing:
    links = select(session_links.c.expires_at, session_links.c.writes).where(
        session_links.c.session_id == session, session_links.c.expires_at > now
    )
    guests = (
        select(people.c.id, people.c.email, people.c.name, session_guests.c.expires_at, session_guests.c.writes)
        .join_from(session_guests, people)
        .where(session_guests.c.session_id == session, session_guests.c.expires_at > now)
    )
    return Sharing(
        [LinkInfo(*row) for row in connection.execute(links.order_by(session_links.c.expires_at))],
        [GuestInfo(PersonName(*row[:3]), *row[3:]) for row in connection.execute(guests.order_by(people.c.email))],
    )


def _guest(connection: Connection, session: str, person: str, now: float) -> bool | None:
    found = select(session_guests.c.writes).where(
        session_guests.c.session_id == session, session_guests.c.person == person, session_guests.c.expires_at > now
    )
    return connection.execute(found).scalar()


if TYPE_CHECKING:

    def is_a_people_store(store: SqlPeople) -> PeopleStore:
        return store
