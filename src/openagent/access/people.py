"""People, their teams, and whom they share sessions with: `people.*`, `teams.*`, `session.share`, `session.join`."""

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import UNSET, Struct
from msgspec.structs import replace

from openagent.access.wrong_codes import WrongCodes
from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.plugins.access import PeopleStore, SessionLink, StoredPerson
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ids import new_session_id
from openagent.protocol.op import Done
from openagent.protocol.people import (
    AccessTold,
    Invited,
    Myself,
    People,
    PeopleAdd,
    PeopleInvite,
    PeopleList,
    PeopleMe,
    PeopleRemove,
    PeopleUpdate,
    PersonInfo,
    PersonName,
    Role,
    SessionAccess,
    SessionJoin,
    SessionShare,
    Shared,
    TeamInfo,
    TeamName,
    Teams,
    TeamsCreate,
    TeamsList,
    TeamsRemove,
    TeamsUpdate,
)
from openagent.protocol.sessions import SessionInfo

LINK_SECONDS = INVITATION_SECONDS = 7 * 86_400.0
_PREFIX = "share_"
_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f<>/\\\"]{1,64}@[^@\s\x00-\x1f\x7f<>/\\\"]{1,190}")


class Vouched(Struct, frozen=True):
    """What whoever people log in with says of one of them."""

    issuer: str
    subject: str
    email: str
    name: str = ""
    role: Role | None = None
    """None: the one they have."""
    teams: tuple[str, ...] | None = None
    """The names of their teams; None: those they are in."""


class PeopleService:
    def __init__(
        self,
        store: PeopleStore,
        manager: SessionManager,
        *,
        folder: Callable[[], Path],
        dismiss: Callable[[str], None],
        look_who_hears: Callable[[str], Awaitable[None]],
        provider: Callable[[], str],
        url: Callable[[], str],
        open_web: Callable[[], Awaitable[tuple[str, str]]],
        here: Callable[[str], list[str]],
        forget_keys: Callable[[str], Awaitable[None]],
    ) -> None:
        """`folder` holds everybody's, `dismiss` hangs up on whoever is connected as a person, `look_who_hears` on
        whoever is with a session and not meant any more; `provider` tells whom people log in with, if with anybody,
        `url` where they open the web, if the settings say, `open_web` where it is otherwise; `here` who looks at a
        session; `forget_keys` takes those of `person/ID` or `team/ID` out of the vault."""
        self._store = store
        self._wrong = WrongCodes()
        self._manager = manager
        self._folder = folder
        self._dismiss = dismiss
        self._look_who_hears = look_who_hears
        self._provider = provider
        self._url = url
        self._open_web = open_web
        self._here = here
        self._forget_keys = forget_keys
        self._changing = asyncio.Lock()

    def handlers(self) -> list[Handler]:
        return [
            PeopleMe.handled_by(self._me),
            PeopleList.handled_by(self._list),
            PeopleAdd.handled_by(self._add),
            PeopleInvite.handled_by(self._invite),
            PeopleUpdate.handled_by(self._update),
            PeopleRemove.handled_by(self._remove),
            TeamsList.handled_by(self._teams),
            TeamsCreate.handled_by(self._create_team),
            TeamsUpdate.handled_by(self._update_team),
            TeamsRemove.handled_by(self._remove_team),
            SessionShare.handled_by(self._share),
            SessionJoin.handled_by(self._join),
            SessionAccess.handled_by(self._access),
        ]

    # Who comes in

    async def signed_in(self, who: Vouched) -> StoredPerson:
        """The person behind a login: known by what the issuer calls them, by their address the first time."""
        async with self._changing:
            everybody = await self._store.people()
            found = next((each for each in everybody if (each.issuer, each.subject) == (who.issuer, who.subject)), None)
            if found is None:
                found = next((each for each in everybody if not each.subject and _same(each.info, who.email)), None)
            if found is None:
                found = await self._new(who.email, who.name, who.role or "member")
            elif found.info.disabled:
                raise OpenAgentError("unauthorized", f"{who.email} is not let in any more.", recoverable=False)
            info = replace(
                found.info,
                email=who.email,
                name=who.name or found.info.name,
                role=who.role or found.info.role,
                last_login_at=time.time(),
            )
            await self._store.save_person(replace(found, info=info, issuer=who.issuer, subject=who.subject))
            if who.teams is not None:
                await self._put_into(info.id, who.teams)
            signed_in = await self._store.person(info.id)
            assert signed_in is not None
            return signed_in

    async def _put_into(self, person: str, names: tuple[str, ...]) -> None:
        known = await self._store.teams()
        for name in set(names) - {team.name for team in known}:
            known.append(await self._new_team(name))
        for team in known:
            members = await self._store.members(team.id)
            if (person in members) is not (team.name in names):
                rest = [each for each in members if each != person]
                await self._store.save_team(team, [*rest, person] if team.name in names else rest)

    async def _new(self, email: str, name: str, role: Role) -> StoredPerson:
        person = new_session_id()
        folder = await asyncio.to_thread(_made, self._folder(), email, person)
        info = PersonInfo(person, email, name, role, folder=folder, created_at=time.time())
        return StoredPerson(info)

    async def _new_team(self, name: str) -> TeamInfo:
        team = new_session_id()
        made = TeamInfo(team, name, await asyncio.to_thread(_made, self._folder() / "teams", name, team))
        await self._store.save_team(made, [])
        return made

    # Ops

    async def _me(self, connection: Connection, op: PeopleMe) -> Myself:
        caller = connection.caller
        if caller.person and not caller.everywhere:
            found = await self._store.person(caller.person)
            known = await self._store.known_to(caller.person, time.time())
            teams = await self._store.teams()
            mine = [TeamName(team.id, team.name) for team in teams if team.id in caller.teams]
            return Myself(found.info if found else None, several=True, teams=mine, known=known)
        if not caller.everywhere:
            return Myself()
        found = await self._store.person(caller.person) if caller.person else None
        known = await self._store.names()
        return Myself(
            found.info if found else None,
            several=bool(known) or bool(self._provider()),
            teams=[TeamName(team.id, team.name) for team in await self._store.teams()],
            known=known,
        )

    async def _list(self, connection: Connection, op: PeopleList) -> People:
        everybody = [each.info for each in await self._store.people()]
        typed = any(info.password or info.invited_until for info in everybody)
        return People(everybody, _note(self._url()) if typed else "")

    async def _add(self, connection: Connection, op: PeopleAdd) -> Invited:
        if not _EMAIL.fullmatch(op.email):
            raise OpenAgentError("invalid_argument", f"{op.email!r} is not an e-mail address.")
        async with self._changing:
            if any(_same(each.info, op.email) for each in await self._store.people()):
                raise OpenAgentError("conflict", f"There is already somebody with the address {op.email}.")
            made = await self._new(op.email, op.name, op.role)
            await self._store.save_person(made)
        if provider := self._provider():
            return _invited(made.info, note=f"They sign in with {provider}.")
        return await self._invitation(made.info.id)

    async def _invite(self, connection: Connection, op: PeopleInvite) -> Invited:
        found = await self._find(op.person)
        if found.info.disabled:
            raise OpenAgentError(
                "conflict",
                f"{found.info.email} is disabled.",
                hint=f"Enable the account first: `openagent people enable {found.info.email}`.",
            )
        return await self._invitation(found.info.id)

    async def _invitation(self, person: str) -> Invited:
        secret, place = secrets.token_urlsafe(24), self._url() or (await self._open_web())[0]
        await self._store.invite(person, digest_of(secret), time.time() + INVITATION_SECONDS)
        found = await self._store.person(person)
        if found is None:
            raise OpenAgentError("not_found", "This person has been removed.")
        return _invited(found.info, link=f"{place}/invitation#{secret}", note=_note(place))

    async def _update(self, connection: Connection, op: PeopleUpdate) -> PersonInfo:
        async with self._changing:
            found = await self._find(op.person)
            given = {"role": op.role, "disabled": op.disabled, "limits": op.limits}
            info = replace(found.info, **{name: value for name, value in given.items() if value is not UNSET})
            if info.role != "admin" or info.disabled:
                await self._leave_an_admin(found.info)
            await self._store.save_person(replace(found, info=info))
        if (info.role, info.disabled) != (found.info.role, found.info.disabled):
            self._dismiss(info.id)
        return info

    async def _remove(self, connection: Connection, op: PeopleRemove) -> Done:
        async with self._changing:
            found = await self._find(op.person)
            await self._leave_an_admin(found.info)
            await self._store.remove_person(found.info.id, time.time())
            await self._forget_keys(f"person/{found.info.id}")
        self._dismiss(found.info.id)
        return Done()

    async def _leave_an_admin(self, leaving: PersonInfo) -> None:
        """Raises if nobody could manage people afterwards."""
        if leaving.role != "admin" or leaving.disabled:
            return
        others = [each.info for each in await self._store.people() if each.info.id != leaving.id]
        if not any(info.role == "admin" and not info.disabled for info in others):
            raise OpenAgentError(
                "conflict",
                f"{leaving.email} is the only admin.",
                hint="Make another person an admin first: `openagent people role ADDRESS admin`.",
            )

    async def _teams(self, connection: Connection, op: TeamsList) -> Teams:
        return Teams(await self._store.teams())

    async def _create_team(self, connection: Connection, op: TeamsCreate) -> TeamInfo:
        if not op.name.strip():
            raise OpenAgentError("invalid_argument", "A team needs a name.")
        async with self._changing:
            if any(team.name == op.name for team in await self._store.teams()):
                raise OpenAgentError("conflict", f"There is already a team {op.name!r}.")
            return await self._new_team(op.name)

    async def _update_team(self, connection: Connection, op: TeamsUpdate) -> TeamInfo:
        async with self._changing:
            team = await self._find_team(op.team)
            coming = [(await self._find(each)).info.id for each in op.add]
            leaving = [(await self._find(each)).info.id for each in op.remove]
            before = await self._store.members(team.id)
            members = [each for each in dict.fromkeys([*before, *coming]) if each not in leaving]
            limits = team.limits if op.limits is UNSET else op.limits
            await self._store.save_team(replace(team, limits=limits), members)
        for each in set(before) ^ set(members):
            self._dismiss(each)
        return await self._find_team(team.id)

    async def _remove_team(self, connection: Connection, op: TeamsRemove) -> Done:
        async with self._changing:
            team = await self._find_team(op.team)
            members = await self._store.members(team.id)
            for session in self._manager.all_loaded:
                if session.info.team == team.id:
                    await session.share_with("", op.id)
            await self._store.remove_team(team.id)
            await self._forget_keys(f"team/{team.id}")
        for each in members:
            self._dismiss(each)
        return Done()

    async def _share(self, connection: Connection, op: SessionShare) -> Shared:
        session = await self._manager.get(op.session)
        caller = connection.caller
        if not _shares(caller, session.info):
            raise OpenAgentError("permission_denied", "Only who a session belongs to shares it.")
        if op.expires_in is not None and op.expires_in <= 0:
            raise OpenAgentError("invalid_argument", "A link cannot expire before it begins.")
        if op.team is not None:
            team = (await self._find_team(op.team)).id if op.team else ""
            if team and not caller.everywhere and team not in caller.teams:
                raise OpenAgentError("not_found", f"You are in no team {op.team!r}.")
            for each in await self._with_descendants(session.id):
                await (await self._manager.get(each)).share_with(team, op.id)
        if op.unlink:
            await self._store.unlink(session.id)
        if op.unlink or op.team is not None:
            for each in await self._with_descendants(session.id):
                await self._look_who_hears(each)
        link = ""
        if op.link:
            link = _PREFIX + secrets.token_urlsafe(24)
            until = time.time() + (op.expires_in or LINK_SECONDS)
            await self._store.add_link(SessionLink(digest_of(link), session.id, op.link == "write", until))
        return Shared(self._manager.told(session.info, connection.env), link)

    async def _with_descendants(self, session: str) -> list[str]:
        return [session, *(info.id for info in await self._manager.runtime.store.descendants(session))]

    async def _join(self, connection: Connection, op: SessionJoin) -> SessionInfo:
        person = connection.caller.person
        if not person:
            raise OpenAgentError(
                "invalid_argument", "Whoever has the machine needs no link.", hint="`openagent attach SESSION`."
            )
        self._wrong.check(person)
        session = await self._store.use_link(digest_of(op.link), person, time.time())
        if session is None:
            self._wrong.add(person)
            raise OpenAgentError("not_found", "The link leads nowhere: it is wrong, has expired or was taken back.")
        # Not loaded for it: another worker may have it, and this may be a gateway that has none.
        where = await self._manager.runtime.store.whereabouts(session)
        return self._manager.told(where.info, connection.env)

    async def _access(self, connection: Connection, op: SessionAccess) -> AccessTold:
        info = (await self._manager.get(op.session)).info
        owner = next((each for each in await self._store.names() if each.id == info.owner), None)
        everybody = [each.info for each in await self._store.people()]
        team = next((team for team in await self._store.teams() if info.team and team.id == info.team), None)
        links, guests = await self._store.sharing(info.id, time.time())
        shares = _shares(connection.caller, info)
        if not shares and info.team not in connection.caller.teams:
            team, links, guests = None, [], []  # whoever came by a link learns nothing of who else may
        return AccessTold(
            owner=owner,
            team=TeamName(team.id, team.name) if team else None,
            members=[_called(each) for each in everybody if team and each.email in team.members],
            links=links,
            guests=guests,
            here=self._here(info.id),
            shares=shares,
            works=await self._works(connection.caller, info),
        )

    async def _works(self, caller: Caller, info: SessionInfo) -> bool:
        if not caller.may("chat") or _shares(caller, info) or info.team in caller.teams:
            return caller.may("chat")
        opened = [info, *self._manager.elders(info)]
        return any([await self._store.guest(each.id, caller.person, time.time()) for each in opened])

    async def _find(self, person: str) -> StoredPerson:
        for each in await self._store.people():
            if each.info.id == person or _same(each.info, person):
                return each
        raise OpenAgentError("not_found", f"There is nobody {person!r}.", hint="`openagent people` lists them.")

    async def _find_team(self, team: str) -> TeamInfo:
        for each in await self._store.teams():
            if team in (each.id, each.name):
                return each
        raise OpenAgentError("not_found", f"There is no team {team!r}.", hint="`openagent teams` lists them.")


def _shares(caller: Caller, info: SessionInfo) -> bool:
    return not caller.person or caller.everywhere or info.owner == caller.person


def _called(info: PersonInfo) -> PersonName:
    return PersonName(info.id, info.email, info.name)


def _same(info: PersonInfo, email: str) -> bool:
    return info.email.casefold() == email.casefold()


def _made(folder: Path, name: str, unique: str) -> str:
    """Named after them, and nobody else's although somebody may be called alike."""
    made = folder / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')[:40]}-{unique[-6:]}"
    made.mkdir(parents=True, mode=0o700)
    return str(made.resolve())


def _invited(info: PersonInfo, *, link: str = "", note: str = "") -> Invited:
    return Invited(**{name: getattr(info, name) for name in info.__struct_fields__}, link=link, note=note)


def _note(place: str) -> str:
    if place.startswith("https://"):
        return ""
    return (
        "Passwords are accepted only over https, or on this machine. For people elsewhere, put an https proxy in front "
        "of the server and set `people.url` to its address."
    )


def digest_of(link: str) -> bytes:
    """The secrets are 192 random bits, so a plain hash is as good as a slow one."""
    return hashlib.sha256(link.encode()).digest()
