"""On whose behalf a connection speaks."""

import time

from msgspec import Struct
from msgspec.structs import replace

from openagent.plugins.places import lies_in
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op
from openagent.protocol.scopes import ALL_SCOPES, Scope
from openagent.protocol.sessions import SessionInfo
from openagent.protocol.tokens import EVERYWHERE


class Caller(Struct, frozen=True):
    id: str
    name: str
    scopes: frozenset[Scope]
    roots: tuple[str, ...] = ()
    """The folders they work below, as real paths."""
    expires_at: float | None = None
    address: str = ""
    """Where they speak from."""
    person: str = ""
    """The id of the person they are, where people log in."""
    teams: tuple[str, ...] = ()
    """The ids of that person's teams."""

    def at(self, address: str) -> "Caller":
        return replace(self, address=address)

    @property
    def called(self) -> str:
        return f"account {self.name!r}" if self.person else f"token {self.name!r}"

    @property
    def everywhere(self) -> bool:
        return EVERYWHERE in self.roots

    def works_in(self, folder: str) -> bool:
        """This real path is one of their folders, or below one."""
        return self.everywhere or lies_in(folder, self.roots)

    def is_guest_in(self, info: SessionInfo) -> bool:
        """They were let into the session by a link alone: it is neither theirs nor their team's."""
        is_theirs = info.owner == self.person or (bool(info.team) and info.team in self.teams)
        return bool(self.person) and not self.everywhere and not is_theirs

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def check(self, op: Op) -> None:
        """Raises when this op is not for them."""
        if self.expires_at is not None and self.expires_at <= time.time():
            raise OpenAgentError(
                "unauthorized",
                "The login has expired." if self.person else "The token has expired.",
                hint="Log in again." if self.person else "Ask for a new one.",
                recoverable=False,
            )
        if missing := op.needed() - self.scopes:
            raise OpenAgentError(
                "permission_denied",
                f"The {self.called} lacks the scope {' and '.join(sorted(missing))} for this.",
                hint="`openagent access create --scope` makes one that has it.",
            )


OWNER = Caller("owner", "owner", ALL_SCOPES, (EVERYWHERE,))
"""Whoever speaks over the socket that only this machine's user can open."""
