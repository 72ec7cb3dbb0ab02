"""The people of a team's installation, their teams, and whom a session is shared with."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, PATCH, POST
from openagent.protocol.scopes import Scope
from openagent.protocol.sessions import SessionInfo

Role = Literal["admin", "member", "viewer"]

ROLE_SCOPES: dict[Role, tuple[Scope, ...]] = {"admin": ("admin",), "member": ("chat", "approve"), "viewer": ("read",)}
"""What a role amounts to. An admin does so everywhere; the others in their own folders and those of their teams."""


class Limits(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a person or a team may use. What is not said is not limited."""

    day_usd: float | None = None
    """Dollars a day, in UTC."""
    day_tokens: int | None = None
    """Tokens a day, in and out, in UTC."""
    turns_a_minute: int | None = None
    """Turns that may begin within a minute."""
    turns_at_once: int | None = None
    """Turns that may run at the same time in one daemon; the others wait in line."""


class PersonInfo(Struct, frozen=True, omit_defaults=True):
    """A person of this installation."""

    id: str
    """Their id."""
    email: str
    """Their address, as who vouches for them tells it."""
    name: str = ""
    """What they are called."""
    role: Role = "member"
    """admin: everything. member: work in their folders. viewer: look there."""
    disabled: bool = False
    """Not let in any more."""
    folder: str = ""
    """Where their work lies."""
    teams: list[str] = []
    """The names of their teams."""
    limits: Limits = Limits()
    """What they may use."""
    created_at: float = 0.0
    """When they were added, in seconds since 1970."""
    last_login_at: float | None = None
    """When they last logged in, in seconds since 1970."""
    password: bool = False
    """They sign in with a password."""
    invited_until: float | None = None
    """When their unused invitation expires, in seconds since 1970."""


class Invited(PersonInfo, frozen=True, omit_defaults=True):
    """A person and their invitation."""

    link: str = ""
    """Where they choose a password. It works once and is not shown again. Empty: they sign in with the provider."""
    note: str = ""
    """A remark for whoever passes the link on."""

    def __repr__(self) -> str:
        return f"Invited(id={self.id!r}, email={self.email!r})"


class People(Struct, frozen=True, omit_defaults=True):
    """People."""

    people: list[PersonInfo]
    """Each person, the oldest first."""
    note: str = ""
    """A problem that keeps people from signing in, if there is one."""


class TeamInfo(Struct, frozen=True, omit_defaults=True):
    """A team: a folder of its own, and sessions shared with all of it."""

    id: str
    """Its id."""
    name: str
    """Its name."""
    folder: str = ""
    """Where its work lies."""
    members: list[str] = []
    """The e-mail addresses of its members."""
    limits: Limits = Limits()
    """What its members may use together."""


class Teams(Struct, frozen=True):
    """Teams."""

    teams: list[TeamInfo]
    """Each team, by name."""


class PersonName(Struct, frozen=True, omit_defaults=True):
    """What others are told of a person."""

    id: str
    """Their id."""
    email: str
    """Their address."""
    name: str = ""
    """What they are called."""


class TeamName(Struct, frozen=True):
    """What its members are told of a team."""

    id: str
    """Its id."""
    name: str
    """Its name."""


class Myself(Struct, frozen=True, omit_defaults=True):
    """Who is asking, and among whom."""

    person: PersonInfo | None = None
    """Who they are; null: whoever has the machine, or a token of the installation's own."""
    several: bool = False
    """People log in here, or were added."""
    teams: list[TeamName] = []
    """The teams they may share with."""
    known: list[PersonName] = []
    """Whose sessions they may meet: people of their teams, and who sent them a link. For an admin all."""


class PeopleMe(ReadingOp[Myself], tag="people.me", needs="read", reach="filtered", routes=GET("/api/people/me")):
    """Who is asking, and whose sessions they may meet."""


class PeopleList(ReadingOp[People], tag="people.list", needs="admin", reach="whole", routes=GET("/api/people")):
    """The people there are."""


class PeopleAdd(Op[Invited], tag="people.add", needs="admin", reach="whole", routes=POST("/api/people", status=201)):
    """Add a person and make their invitation link. If `people.issuer` is set, they sign in there with this address
    instead."""

    email: str
    """Their address."""
    name: str = ""
    """What to call them."""
    role: Role = "member"
    """What they may do."""


class PeopleInvite(
    Op[Invited],
    tag="people.invite",
    needs="admin",
    reach="whole",
    routes=POST("/api/people/{person}/invitation", status=201),
):
    """Make a new invitation link for a person, for example after a forgotten password. It replaces the previous one."""

    person: str
    """Their id or address."""


class PeopleUpdate(
    Op[PersonInfo], tag="people.update", needs="admin", reach="whole", routes=PATCH("/api/people/{person}")
):
    """Change a person's role or limits, or let them in no longer. At once: whoever is connected as them is cut off."""

    person: str
    """Their id or address."""
    role: Role | UnsetType = UNSET
    """What they may do from now on."""
    disabled: bool | UnsetType = UNSET
    """True: they are let in no longer."""
    limits: Limits | UnsetType = UNSET
    """What they may use, in place of all limits before."""


class PeopleRemove(Op[Done], tag="people.remove", needs="admin", reach="whole", routes=DELETE("/api/people/{person}")):
    """Remove a person: they are signed out at once, leave their teams, and lose their tokens and keys. Their sessions
    and folder stay under their name. Adding the address again creates a new person."""

    person: str
    """Their id or address."""


class TeamsList(ReadingOp[Teams], tag="teams.list", needs="admin", reach="whole", routes=GET("/api/teams")):
    """The teams there are."""


class TeamsCreate(
    Op[TeamInfo], tag="teams.create", needs="admin", reach="whole", routes=POST("/api/teams", status=201)
):
    """A new team, with a folder of its own."""

    name: str
    """What to call it."""


class TeamsUpdate(Op[TeamInfo], tag="teams.update", needs="admin", reach="whole", routes=PATCH("/api/teams/{team}")):
    """Change who is in a team, or what it may use."""

    team: str
    """Its id or name."""
    add: list[str] = []
    """Who comes in: ids or addresses."""
    remove: list[str] = []
    """Who leaves."""
    limits: Limits | UnsetType = UNSET
    """What it may use, in place of all limits before; turns a minute are counted for people alone."""


class TeamsRemove(Op[Done], tag="teams.remove", needs="admin", reach="whole", routes=DELETE("/api/teams/{team}")):
    """Dissolve a team. Its folder stays; what was shared with it is its owners' alone again."""

    team: str
    """Its id or name."""


class Shared(Struct, frozen=True, omit_defaults=True):
    """With whom a session is shared."""

    info: SessionInfo
    """The session."""
    link: str = ""
    """What opens it for whoever has it and is logged in; told this once."""

    def __repr__(self) -> str:
        return f"Shared(info={self.info!r})"


class SessionShare(Op[Shared], tag="session.share", needs="chat", routes=POST("/api/sessions/{session}/share")):
    """Share a session, and those that work for it, with one of your teams, or by a link with whoever has it."""

    session: str
    """Which."""
    team: str | None = None
    """The team's id or name; empty: with no team any more; null: as it is."""
    link: Literal["", "read", "write"] = ""
    """Make a link that lets its holders read the session, or also work in it."""
    expires_in: float | None = None
    """Seconds for which the link works; null: a week."""
    unlink: bool = False
    """Take back every link of the session, and what was opened with one."""


class SessionJoin(Op[SessionInfo], tag="session.join", needs="read", reach="open", routes=POST("/api/sessions/join")):
    """Open a session that somebody shares by a link."""

    link: str
    """What `session.share` told."""

    def __repr__(self) -> str:
        return "SessionJoin()"


class LinkInfo(Struct, frozen=True, omit_defaults=True):
    """A link that opens a session, without its secret."""

    expires_at: float
    """Until when it works, in seconds since 1970."""
    writes: bool = False
    """Who came by it may also work there."""


class GuestInfo(Struct, frozen=True, omit_defaults=True):
    """Somebody who opened a session by a link."""

    who: PersonName
    """Who."""
    expires_at: float
    """Until when they may, in seconds since 1970."""
    writes: bool = False
    """They may also work there."""


class AccessTold(Struct, frozen=True, omit_defaults=True):
    """Who may open a session."""

    owner: PersonName | None = None
    """Whose it is; null: of the one who has the machine."""
    team: TeamName | None = None
    """The team it is shared with."""
    members: list[PersonName] = []
    """Who is in that team."""
    links: list[LinkInfo] = []
    """Links that still open it."""
    guests: list[GuestInfo] = []
    """Who opened it by one."""
    here: list[str] = []
    """Who looks at it now, by name."""
    shares: bool = False
    """Whoever asks may change this."""
    works: bool = False
    """Whoever asks may also work in it."""


class SessionAccess(
    ReadingOp[AccessTold], tag="session.access", needs="read", routes=GET("/api/sessions/{session}/access")
):
    """Who may open a session, and who has it open."""

    session: str
    """Which."""


PEOPLE_OPS = (
    *(PeopleMe, PeopleList, PeopleAdd, PeopleInvite, PeopleUpdate, PeopleRemove),
    *(TeamsList, TeamsCreate, TeamsUpdate, TeamsRemove),
    *(SessionShare, SessionJoin, SessionAccess),
)
