"""What people allowed for longer than once, to be seen and taken back."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET


class Grant(Struct, frozen=True, omit_defaults=True):
    """Something a person allowed for longer than once."""

    id: str
    """What it is revoked by."""
    scope: Literal["session", "always"]
    """How long it holds."""
    covers: str
    """What it allows, in words."""
    workspace: str = ""
    """Where it holds; empty: everywhere."""
    session: str = ""
    """Where it was given, when it holds for one session and those that work for it."""
    at: float = 0.0
    """When it was given, in seconds since 1970."""
    by: str = ""
    """The client that it was given in, where that is known."""


class Grants(Struct, frozen=True, omit_defaults=True):
    """What people allowed."""

    grants: list[Grant]
    """What was allowed."""
    notices: list[str] = []
    """Why some that there are cannot be told."""


class GrantsList(ReadingOp[Grants], tag="grants.list", needs="approve", reach="filtered", routes=GET("/api/grants")):
    """What is allowed without being asked for, because a person said so."""

    session: str = ""
    """Only what holds in this session: what was allowed in it or in those it works for, and always in its workspace."""


class GrantsRevoke(Op[Done], tag="grants.revoke", needs="approve", tells=True, routes=DELETE("/api/grants/{grant}")):
    """Take a grant back. It holds no longer from the next decision on, also in a turn that is running."""

    grant: str
    """Its id, as the list tells it."""
