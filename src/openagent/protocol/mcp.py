"""MCP servers, as clients see and write them."""

from typing import Literal

from msgspec import Struct, field

from openagent.protocol.auth import LoginStarted
from openagent.protocol.messages import UserPart
from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST


class McpOAuth(Struct, frozen=True, omit_defaults=True):
    """How a server knows us, where it does not let programs register themselves."""

    client_id: str = ""
    """Also an https address that describes the client, for servers that look there."""
    client_secret: str = ""
    """What we show as proof, where the server gave us one."""
    scopes: list[str] = []
    """Asked for besides those that the server names."""
    grant: Literal["", "client_credentials", "identity_assertion"] = ""
    """`client_credentials`: the client itself is let in, by its id and its secret or key, and nobody logs in.
    `identity_assertion`: a company's identity provider says who the person is, and nobody logs in here."""
    issuer: str = ""
    """The authorization server that gave us the id: the secret is shown to no other. `identity_assertion` needs it."""
    private_key: str = ""
    """For `client_credentials`, instead of a secret: a key in PEM that signs what proves us."""
    identity_url: str = ""
    """For `identity_assertion`: where the identity provider exchanges tokens."""
    identity_client: str = ""
    """The id we have there."""
    identity_token: str = ""
    """The ID token that says who the person is; mostly a `${VARIABLE}`, for it does not last."""

    def __repr__(self) -> str:
        return f"McpOAuth({self.client_id!r})"


class McpServerEntry(Struct, frozen=True, omit_defaults=True):
    """A server in the form of an `mcpServers` file: a command to run in the jail, or an address."""

    kind: str = field(name="type", default="")
    """stdio, http (streamable) or sse; chosen by what is given when empty."""
    command: str = ""
    """The program to run."""
    args: list[str] = []
    """What the program is given."""
    env: dict[str, str] = {}
    """Variables the program is started with."""
    url: str = ""
    """The address of one that runs elsewhere."""
    headers: dict[str, str] = {}
    """Sent with every request to that address."""
    cwd: str = ""
    """The folder the program starts in; empty: the workspace."""
    folders: list[str] = []
    """Of a command: folders outside the workspace that it finds in the jail, to read, or with `:rw` behind them to
    write. Those that hold its program, and those its arguments name, it can read anyway."""
    timeout: float = 60.0
    """Seconds a call may take; while a person is asked, none pass."""
    start_timeout: float = 0.0
    """Seconds it may take to start; 0: 30, and 180 for a command that fetches its program first (npx, uvx)."""
    tools: list[str] = []
    """Only these of its tools; empty: all."""
    without_tools: list[str] = []
    """None of these."""
    network: str | list[str] = ""
    """Of a command: `on`, `off` or the hosts it may reach. Empty: as the jail's other commands."""
    disabled: bool = False
    """It is not started."""
    description: str = ""
    """What it is for, for people."""
    oauth: McpOAuth = McpOAuth()
    """How to log in to it."""

    def __repr__(self) -> str:
        return f"McpServerEntry({self.command or self.url.partition('?')[0]!r})"


class McpServerInfo(Struct, frozen=True, omit_defaults=True):
    """An MCP server, and how it is."""

    name: str
    """Its name."""
    transport: Literal["stdio", "http", "sse"]
    """How it is spoken to."""
    target: str
    """The command or the address, without what may be secret."""
    status: Literal["idle", "starting", "up", "down", "failed", "disabled"]
    """idle: starts with the next turn of a session there."""
    detail: str = ""
    """Why, where it is not well."""
    tools: list[str] = []
    """The tools it offers."""
    source: str = ""
    """The file it stands in, or `database`."""
    origin: Literal["yours", "project", "session"] = "yours"
    """Whose it is. A project's is changed in the project's file, one of a session by the client that passed it along:
    both can be switched off, but neither edited nor removed."""
    description: str = ""
    """What it is for, for people."""
    resources: int = 0
    """How many resources it offers."""
    prompts: int = 0
    """How many prompts it offers."""
    warnings: list[str] = []
    """What a person should know about what it offers: hidden characters, instructions, names of built-in tools."""
    in_session: bool = True
    """Whether the session that was asked about uses it."""


class McpServers(Struct, frozen=True, omit_defaults=True):
    """MCP servers."""

    servers: list[McpServerInfo]
    """Each server."""
    notices: list[str] = []
    """What was left out, and why."""


class McpImported(Struct, frozen=True, omit_defaults=True):
    """What was taken over."""

    added: list[str]
    """What is new, by name."""
    kept: list[str] = []
    """Already there under this name."""
    problems: list[str] = []
    """What could not be read, and why."""
    notes: list[str] = []
    """What means something else here, or is still to be done: a variable to be set."""


class McpResource(Struct, frozen=True, omit_defaults=True):
    """Something a server lets one read."""

    server: str
    """The server that offers it."""
    uri: str
    """Of a template: with {parameters}."""
    name: str
    """Its name."""
    description: str = ""
    """What it is for, for people."""
    media_type: str = ""
    """Its media type, such as `image/png`."""
    is_template: bool = False
    """Its address has parameters to be filled in."""


class McpResourceList(Struct, frozen=True):
    """What servers let one read."""

    resources: list[McpResource]
    """Each resource."""


class McpResourceContent(Struct, frozen=True, omit_defaults=True):
    """One thing that was read from a server."""

    uri: str
    """Its address."""
    media_type: str = ""
    """Its media type, such as `image/png`."""
    text: str = ""
    """What it holds, if that is text."""
    data: str = ""
    """base64, of what is no text."""


class McpResourceContents(Struct, frozen=True):
    """What was read from a server."""

    contents: list[McpResourceContent]
    """What was read: one, or several."""


class McpPromptArgument(Struct, frozen=True, omit_defaults=True):
    """Something a prompt is filled in with."""

    name: str
    """Its name."""
    description: str = ""
    """What it is for, for people."""
    required: bool = False
    """The prompt cannot be filled in without it."""


class McpPrompt(Struct, frozen=True, omit_defaults=True):
    """A prompt of a server."""

    server: str
    """The server that offers it."""
    name: str
    """Its name."""
    description: str = ""
    """What it is for, for people."""
    arguments: list[McpPromptArgument] = []
    """What it is filled in with."""


class McpPromptList(Struct, frozen=True):
    """Prompts of servers."""

    prompts: list[McpPrompt]
    """Each prompt."""


class McpPromptMessage(Struct, frozen=True):
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    """Who says it."""
    part: UserPart
    """What is said."""


class McpPromptMessages(Struct, frozen=True):
    """A prompt, filled in."""

    messages: list[McpPromptMessage]
    """In order."""


class McpSetting(Struct, frozen=True, omit_defaults=True):
    """A variable that a known server is started with."""

    name: str
    """The variable."""
    about: str
    """What it is for."""
    required: bool = True
    """The server does not start without it."""
    is_set: bool = False
    """For the daemon."""


class McpCatalogueEntry(Struct, frozen=True, omit_defaults=True):
    """A server that is known, whether it is installed or not."""

    name: str
    """Its name."""
    about: str
    """What it is for, in a sentence."""
    server: McpServerEntry
    """How it is reached."""
    needs: list[McpSetting] = []
    """The settings it needs."""
    install: str = ""
    """How to get its command."""
    page: str = ""
    """Where to read about it."""


class McpCatalogue(Struct, frozen=True):
    """The servers that are known."""

    entries: list[McpCatalogueEntry]
    """Each known server."""


class McpList(
    ReadingOp[McpServers],
    tag="mcp.list",
    needs="read",
    reach="open",
    routes=(GET("/api/mcp/servers"), GET("/api/metrics/mcp-health", "How the MCP servers are.")),
):
    """The MCP servers that count in a folder, or for a session."""

    cwd: str = ""
    """The folder whose servers count too; empty: none."""
    session: str = ""
    """The session whose servers are meant."""


class McpTest(
    Op[McpServers],
    tag="mcp.test",
    needs="admin",
    reach="whole unless named",
    waits=True,
    routes=POST("/api/mcp/servers/{name}/test"),
):
    """Start an MCP server, or all of them, and tell what they offer."""

    name: str = ""
    """Only this one; empty: all."""
    cwd: str = ""
    """The folder whose servers are meant."""
    server: McpServerEntry | None = None
    """Try this, under the name, as it would be: nothing is kept. Values left empty are those kept under the name."""


class McpAdd(Op[Done], tag="mcp.add", needs="admin", reach="whole", routes=POST("/api/mcp/servers")):
    """Keep an MCP server in the database."""

    name: str
    """What to call it."""
    server: McpServerEntry
    """How it is reached."""
    replace: bool = False
    """Also when there is one of this name already. Values that are empty in the new entry stay as they were."""


class McpKept(Struct, frozen=True):
    """A server's entry, to be edited."""

    name: str
    """Its name."""
    server: McpServerEntry
    """Its entry. Values of variables and headers that may be secret are empty."""
    source: str
    """The file it stands in, or `database`."""


class McpShow(
    ReadingOp[McpKept],
    tag="mcp.show",
    needs="admin",
    reach="whole",
    routes=GET("/api/mcp/servers/{name}/entry"),
):
    """A server's entry as it was given. `mcp.add` puts it back, and keeps what is empty in it."""

    name: str
    """The server, by its name."""


class McpRemove(Op[Done], tag="mcp.remove", needs="admin", reach="whole", routes=DELETE("/api/mcp/servers/{name}")):
    """Remove an MCP server, out of the database or out of the person's own file."""

    name: str
    """The server, by its name."""


class McpSwitch(
    Op[Done], tag="mcp.switch", needs="admin", reach="whole unless named", routes=POST("/api/mcp/servers/{name}/switch")
):
    """Enable or disable an MCP server, wherever it stands: for all sessions, or for one from its next turn on."""

    name: str
    """The server, by its name."""
    on: bool
    """False: it is not started."""
    cwd: str = ""
    """The folder whose server it is."""
    session: str = ""
    """Only for this session; empty: for all."""


class McpImport(
    Op[McpImported],
    tag="mcp.import",
    needs="admin",
    reach="whole",
    names={"path": "folder"},
    routes=POST("/api/mcp/import"),
):
    """Copy the servers of another program's file into the database; what is there already stays."""

    path: str
    """The file, on the daemon's machine."""


class McpResources(
    ReadingOp[McpResourceList], tag="mcp.resources", needs="chat", waits=True, routes=GET("/api/mcp/resources")
):
    """What the servers of a folder let one read. Starts them where need be."""

    cwd: str
    """The folder whose servers are asked."""
    server: str = ""
    """Only this one; empty: all."""


class McpResourceRead(ReadingOp[McpResourceContents], tag="mcp.resource.read", needs=("chat", "approve"), waits=True):
    """Read what a server offers at an address of its own."""

    cwd: str
    """The folder whose server it is."""
    server: str
    """The MCP server, by its name."""
    uri: str
    """Its address."""


class McpPrompts(ReadingOp[McpPromptList], tag="mcp.prompts", needs="chat", waits=True, routes=GET("/api/mcp/prompts")):
    """The prompts of a folder's servers. Starts them where need be."""

    cwd: str
    """The folder whose servers are asked."""
    server: str = ""
    """Only this one; empty: all."""


class McpPromptGet(ReadingOp[McpPromptMessages], tag="mcp.prompt.get", needs=("chat", "approve"), waits=True):
    """A prompt, filled in."""

    cwd: str
    """The folder whose server it is."""
    server: str
    """The MCP server, by its name."""
    name: str
    """The prompt, by its name."""
    arguments: dict[str, str] = {}
    """What it is filled in with."""


class McpLogin(Op[LoginStarted], tag="mcp.login", needs="admin", reach="whole", waits=True):
    """Start a login to a server. It ends when the browser comes back to the daemon, or with `mcp.login.finish`."""

    name: str
    """The server, by its name."""
    cwd: str = ""
    """The folder whose servers count too."""


class McpLoginFinish(Op[Done], tag="mcp.login.finish", needs="admin", reach="whole", waits=True):
    """Finish a login to a server. Answered when it has ended, well or not."""

    login: str
    """Which login, as `mcp.login` told it."""
    answer: str = ""
    """The address the browser ended at. Empty: only wait for the browser."""

    def __repr__(self) -> str:
        return f"McpLoginFinish(login={self.login!r})"


class McpSessionServers(Op[Done], tag="mcp.session.set", needs="admin"):
    """Servers for one session alone, in the place of those it was given before: kept in memory, and gone with none.
    A name comes before the same one elsewhere."""

    session: str
    """The session they are for."""
    servers: dict[str, McpServerEntry]
    """By name."""


class McpLogout(Op[Done], tag="mcp.logout", needs="admin", reach="whole"):
    """Forget a login to a server."""

    name: str
    """The server, by its name."""


class McpCatalog(
    ReadingOp[McpCatalogue], tag="mcp.catalog", needs="read", reach="open", routes=GET("/api/mcp/catalog")
):
    """The servers that are known, with the settings they need."""

    name: str = ""
    """Only this one; empty: all."""
