"""What is kept of the tokens, and of requests that may come twice."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from openagent.protocol.people import GuestInfo, LinkInfo, PersonInfo, PersonName, TeamInfo
from openagent.protocol.tokens import TokenInfo


class StoredToken(Struct, frozen=True):
    info: TokenInfo
    digest: bytes
    """Of the secret, which itself is not kept."""


class Replay(Struct, frozen=True):
    """A request that was answered, and what was answered."""

    caller: str
    key: str
    fingerprint: bytes
    """Of method, address and body: the same key with another request is a mistake."""
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    at: float


class AccessStore(Protocol):
    async def tokens(self) -> list[StoredToken]:
        """Oldest first."""
        ...

    async def token(self, token: str) -> StoredToken | None: ...

    async def add_token(self, token: StoredToken) -> None: ...

    async def remove_token(self, token: str) -> None: ...

    async def token_used(self, token: str, at: float) -> None: ...

    async def replay(self, caller: str, key: str) -> Replay | None: ...

    async def keep_replay(self, replay: Replay, *, forget_before: float) -> None:
        """And forget those that are older than that."""
        ...


class StoredPerson(Struct, frozen=True):
    info: PersonInfo
    """Without their teams."""
    issuer: str = ""
    """Who vouches for them; empty: they were added and have not logged in yet."""
    subject: str = ""
    """What the issuer calls them, whatever becomes of their address."""
    teams: tuple[str, ...] = ()
    """The ids of their teams."""
    folders: tuple[str, ...] = ()
    """Their own folder and their teams'."""


class SessionLink(Struct, frozen=True):
    digest: bytes
    """Of the secret, which itself is not kept."""
    session: str
    writes: bool
    expires_at: float


class Sharing(NamedTuple):
    """How a session is open to others than its owner and its team."""

    links: list[LinkInfo]
    guests: list[GuestInfo]


class PendingLogin(Struct, frozen=True):
    """A login that somebody has gone away for: any daemon of the database may see them come back."""

    id: str
    """The digest of the secret that they come back with."""
    user_code: str
    """What a terminal shows."""
    data: bytes
    expires_at: float


class PeopleStore(Protocol):
    async def people(self) -> list[StoredPerson]:
        """Oldest first."""
        ...

    async def person(self, person: str) -> StoredPerson | None:
        """By id."""
        ...

    async def save_person(self, person: StoredPerson) -> None:
        """New, or in place of the one with this id. Raises OpenAgentError('conflict') when the address is another's."""
        ...

    async def remove_person(self, person: str, now: float) -> None:
        """Neither `people` nor `person` finds them any more. Their tokens, teams and what was shared with them are
        gone; what is theirs stays theirs."""
        ...

    async def came(self, person: str, now: float) -> None:
        """They have logged in."""
        ...

    async def invite(self, person: str, digest: bytes, until: float) -> None:
        """In place of an invitation before. `digest`: of the secret, which itself is not kept."""
        ...

    async def invited(self, digest: bytes, now: float) -> StoredPerson | None:
        """Whose invitation it is; None: there is none, or no longer."""
        ...

    async def join(self, digest: bytes, password: str, now: float) -> bool:
        """The invitation is used up, for this password. Once: whoever comes next gets False."""
        ...

    async def password(self, person: str) -> str:
        """As it is kept; empty: they have none."""
        ...

    async def change_password(self, person: str, old: str, new: str) -> bool:
        """Both as they are kept. False: it is another one by now."""
        ...

    async def has_passwords(self) -> bool:
        """Somebody has one."""
        ...

    async def end_logins(self, person: str, but: str = "") -> list[str]:
        """Deletes their logins and tokens, but for this one, and those that a terminal has yet to fetch. Returns the
        ids of the former."""
        ...

    async def names(self) -> list[PersonName]:
        """Also of those who were removed; by address."""
        ...

    async def role(self, person: str) -> str:
        """Or what they had last, when they were removed; empty: nobody is known by this id."""
        ...

    async def known_to(self, person: str, now: float) -> list[PersonName]:
        """Who is in a team with them, or was and has shared a session with it, or shares one with them by a link; by
        address."""
        ...

    async def teams(self) -> list[TeamInfo]:
        """By name."""
        ...

    async def save_team(self, team: TeamInfo, members: Sequence[str]) -> None:
        """`members` are ids. Raises OpenAgentError('conflict') when the name is taken."""
        ...

    async def remove_team(self, team: str) -> None:
        """What was shared with it is its owners' alone again."""
        ...

    async def members(self, team: str) -> list[str]:
        """Their ids."""
        ...

    async def keep_login(self, login: PendingLogin) -> None:
        """New, or in place of the one with this id. Those that have expired are forgotten."""
        ...

    async def pending_login(self, login: str) -> PendingLogin | None: ...

    async def shown_login(self, user_code: str) -> PendingLogin | None: ...

    async def take_login(self, login: str) -> PendingLogin | None:
        """Once: whoever asks next gets none."""
        ...

    async def add_link(self, link: SessionLink) -> None: ...

    async def use_link(self, digest: bytes, person: str, now: float) -> str | None:
        """Makes the person a guest of the session it is for, and tells which; None: there is no such link, or no
        longer."""
        ...

    async def unlink(self, session: str) -> None:
        """Its links and guests are gone."""
        ...

    async def sharing(self, session: str, now: float) -> Sharing: ...

    async def guest(self, session: str, person: str, now: float) -> bool | None:
        """Whether they may also work there; None: they are no guest of it."""
        ...
