"""Keys and logins of the providers."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST


class AuthEntry(Struct, frozen=True, omit_defaults=True):
    """A credential, as far as anybody may see it."""

    name: str
    """The provider it is for, and after an @ which of several: `anthropic`, `anthropic@work`."""
    kind: Literal["api_key", "oauth"]
    """A key, or a login."""
    source: Literal["vault", "config", "environment"] = "vault"
    """Where it is kept."""
    created_at: float = 0.0
    """When it was first kept, in seconds since 1970."""
    updated_at: float = 0.0
    """When it was last changed, in seconds since 1970."""
    last_used_at: float | None = None
    """When it was last used, in seconds since 1970."""
    use_count: int = 0
    """How often it was used."""
    expires_at: float | None = None
    """Of a login that was used since the daemon started: when its token ends, unless renewed before."""
    dead: str = ""
    """Why it no longer does, as far as the provider said so since the daemon started; empty: nothing is wrong."""
    mend: str = ""
    """The command that mends one that is dead."""


class LoginTemplate(Struct, frozen=True, omit_defaults=True):
    """A provider whose ways to log in are known. A client id of one's own is needed all the same."""

    name: str
    """What it is called in `auth.login` and in the configuration."""
    title: str
    """What people call it."""
    provider: str
    """The name its provider usually has."""
    register: str
    """Where a client id is to be had: an address."""
    device: bool = False
    """It also logs in by a code, on a machine without a browser."""


class AuthEntries(Struct, frozen=True):
    """Credentials."""

    entries: list[AuthEntry]
    """One for each key and login of a provider."""
    servers: list[AuthEntry] = []
    """What is kept for MCP servers, by the server's name: logins, and values of their entries."""
    templates: list[LoginTemplate] = []
    """Providers that one can log in to with nothing but a client id."""


class LoginClient(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """As whom and where to log in, for a provider of which the configuration does not say it."""

    client_id: str
    """The client id that the provider gave you."""
    client_secret: str = ""
    """Only for clients that have one. It is kept in the vault."""
    template: str = ""
    """Whose endpoints to use: one of the templates that `auth.list` names."""
    issuer: str = ""
    """In place of a template: the login server of your company, whose `.well-known` says its endpoints."""
    redirect_uri: str = ""
    """Where the browser goes afterwards, as you registered it. Empty: any port of the daemon's machine."""
    base_url: str = ""
    """Where the models of a provider answer that is not configured yet."""

    def __repr__(self) -> str:
        return f"LoginClient(client_id={self.client_id!r}, template={self.template!r})"


class LoginStarted(Struct, frozen=True, omit_defaults=True):
    """A login that waits for a person in a browser."""

    login: str
    """What the login is called when it is finished."""
    url: str
    """Where a person grants access."""
    expires_at: float
    """When the daemon stops waiting."""
    code: str = ""
    """What the person types there; empty: nothing."""
    pasted: bool = False
    """The browser does not come back to the daemon: the page shows a code, which `auth.login.finish` takes."""


class AuthAdd(
    Op[AuthEntry], tag="auth.add", needs="admin", reach="whole", waits=True, routes=POST("/api/auth", status=201)
):
    """Keep an API key in the vault, under the name of the provider it is for."""

    name: str
    """The provider it is for; with an @ and a name of your own, beside those there are: `anthropic@work`."""
    key: str
    """The API key."""
    replace: bool = False
    """Also when there is one of this name already."""
    test: bool = False
    """Try it first, with a question that costs nothing: one that the provider refuses is not kept."""

    def __repr__(self) -> str:
        return f"AuthAdd(name={self.name!r})"


class AuthList(ReadingOp[AuthEntries], tag="auth.list", needs="admin", reach="whole", routes=GET("/api/auth")):
    """The credentials, as far as anybody may see them."""

    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class AuthRemove(
    Op[Done], tag="auth.remove", needs="admin", reach="whole", waits=True, routes=DELETE("/api/auth/{name}")
):
    """Forget a key; a login is also given back to the provider, where it offers that."""

    name: str
    """The provider whose key or login it is, with its @ if it is one of several."""


class AuthLogin(
    Op[LoginStarted],
    tag="auth.login",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/auth/{provider}/login"),
):
    """Start a login. It ends when the browser comes back to the daemon, or with `auth.login.finish`."""

    provider: str
    """The provider to log in to; with an @ and a name of your own, beside the keys and logins there are."""
    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""
    device: bool = False
    """By a code that a person types on any device, where the provider offers that."""
    client: LoginClient | None = None
    """As whom and where, if the configuration is not to say it. It is written there once somebody is logged in."""


class AuthLoginFinish(
    Op[AuthEntry],
    tag="auth.login.finish",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/auth/logins/{login}"),
):
    """Finish a login. Answered when it has ended, well or not."""

    login: str
    """Which login, as `auth.login` told it."""
    answer: str = ""
    """What the browser showed: the address it ended at, or the code. What is refused does not end the login. Empty:
    only wait for the browser."""

    def __repr__(self) -> str:
        return f"AuthLoginFinish(login={self.login!r})"


class AuthRefresh(
    Op[AuthEntry],
    tag="auth.refresh",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/auth/{provider}/refresh"),
):
    """Renew a login now."""

    provider: str
    """The provider whose login is renewed."""


class OwnKeys(Struct, frozen=True):
    """Keys of a person's or a team's own."""

    entries: list[AuthEntry]
    """One for each provider there is a key for. The keys themselves are never shown."""


class KeysAdd(
    Op[AuthEntry], tag="keys.add", needs="chat", reach="open", waits=True, routes=POST("/api/keys", status=201)
):
    """Keep an API key of your own, or a team's: turns of your sessions, or of those shared with the team, use it in
    place of the one that is everybody's."""

    name: str
    """The provider it is for."""
    key: str
    """The API key."""
    team: str = ""
    """A team's, by its id or name, for admins to say; empty: your own."""
    replace: bool = False
    """Also when there is one already."""
    test: bool = False
    """Try it first, with a question that costs nothing: one that the provider refuses is not kept."""

    def __repr__(self) -> str:
        return f"KeysAdd(name={self.name!r})"


class KeysList(ReadingOp[OwnKeys], tag="keys.list", needs="read", reach="open", routes=GET("/api/keys")):
    """The keys of your own, or of a team's, without the keys themselves."""

    team: str = ""
    """A team's, by its id or name, for admins to see; empty: your own."""


class KeysRemove(Op[Done], tag="keys.remove", needs="chat", reach="open", routes=DELETE("/api/keys/{name}")):
    """Forget a key of your own, or a team's."""

    name: str
    """The provider it is for."""
    team: str = ""
    """A team's, by its id or name, for admins to say; empty: your own."""
