"""Who may come in from outside this machine's own socket, and what they may do."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST
from openagent.protocol.scopes import Scope

TokenKind = Literal["token", "browser"]


EVERYWHERE = "/"
"""The root of a token that is bound to no folder."""


class TokenInfo(Struct, frozen=True, omit_defaults=True):
    """A token, without its secret."""

    id: str
    """Its id."""
    name: str
    """Its name."""
    scopes: list[Scope]
    """What it allows."""
    roots: list[str] = []
    """The folders it works below; `/`: all."""
    kind: TokenKind = "token"
    """A token, or a browser's login."""
    created_at: float = 0.0
    """When it was made, in seconds since 1970."""
    last_used_at: float | None = None
    """When it was last used, in seconds since 1970."""
    expires_at: float | None = None
    """When it ends, in seconds since 1970; null: when it is revoked."""
    person: str = ""
    """The id of whose it is; empty: the installation's own."""


class TokenCreated(Struct, frozen=True):
    """A new token."""

    info: TokenInfo
    """The token, as it is listed."""
    secret: str
    """What to show as `Authorization: Bearer`; told this once."""

    def __repr__(self) -> str:
        return f"TokenCreated(info={self.info!r})"


class TokenList(Struct, frozen=True):
    """Tokens."""

    tokens: list[TokenInfo]
    """Each token, and each browser's login."""


class LoginAddress(Struct, frozen=True):
    """An address that logs a browser in."""

    url: str
    """The address to open in the browser."""
    expires_at: float
    """Until when it works, in seconds since 1970."""
    note: str = ""
    """Why it is at another port than the usual one, where it is."""

    def __repr__(self) -> str:
        return f"LoginAddress(expires_at={self.expires_at!r})"


class TokensCreate(
    Op[TokenCreated], tag="tokens.create", needs="admin", reach="open", routes=POST("/api/tokens", status=201)
):
    """A new token. Its secret is told once, in the answer, and kept as a hash."""

    name: str
    """What to call it."""
    scopes: list[Scope]
    """What it allows."""
    roots: list[str] = []
    """The folders it works below: sessions, files and searches elsewhere do not exist for it. `/`: all that can be
    worked in. Empty: none; of a person's token: all of theirs."""
    expires_in: float | None = None
    """Seconds; None: until it is revoked."""
    person: str = ""
    """Whose it is, by id or address: it never allows more than they may. Empty: the installation's own."""


class TokensList(ReadingOp[TokenList], tag="tokens.list", needs="admin", reach="whole", routes=GET("/api/tokens")):
    """The tokens, and the browsers that are logged in."""


class TokensRevoke(Op[Done], tag="tokens.revoke", needs="admin", reach="whole", routes=DELETE("/api/tokens/{token}")):
    """Revoke a token. At once: whoever is connected with it is cut off."""

    token: str
    """Its id or its name."""


class WebLogin(Op[LoginAddress], tag="web.login", needs="admin", reach="open"):
    """An address that logs one browser in, once, within a few minutes."""

    scopes: list[Scope] = []
    """Empty: all."""
    roots: list[str] = []
    """The folders that the browser works below. Empty: with the scope admin those of whoever asks for the address,
    else none."""


class WebClose(Op[Done], tag="web.close", needs="admin", reach="whole"):
    """Close the web interface, and keep it closed until somebody opens it again."""
