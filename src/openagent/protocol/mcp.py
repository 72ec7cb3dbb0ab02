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
    scopes: list[str] = []
    """Asked for besides those that the server names."""

    def __repr__(self) -> str:
        return f"McpOAuth({self.client_id!r})"


class McpServerEntry(Struct, frozen=True, omit_defaults=True):
    """A server in the form of an `mcpServers` file: a command to run in the jail, or an address."""

    kind: str = field(name="type", default="")
    """stdio, http (streamable) or sse; chosen by what is given when empty."""
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    timeout: float = 60.0
    """Seconds a call may take."""
    network: str | list[str] = ""
    """Of a command: `on`, `off` or the hosts it may reach. Empty: as the jail's other commands."""
    disabled: bool = False
    description: str = ""
    oauth: McpOAuth = McpOAuth()

    def __repr__(self) -> str:
        return f"McpServerEntry({self.command or self.url.partition('?')[0]!r})"


class McpServerInfo(Struct, frozen=True, omit_defaults=True):
    name: str
    transport: Literal["stdio", "http", "sse"]
    target: str
    """The command or the address, without what may be secret."""
    status: Literal["idle", "starting", "up", "down", "failed", "disabled"]
    """idle: starts with the next turn of a session there."""
    detail: str = ""
    tools: list[str] = []
    source: str = ""
    """The file it stands in, or `database`."""
    description: str = ""
    resources: int = 0
    prompts: int = 0
    warnings: list[str] = []
    """What a person should know about what it offers: hidden characters, instructions, names of built-in tools."""
    in_session: bool = True
    """Whether the session that was asked about uses it."""


class McpServers(Struct, frozen=True, omit_defaults=True):
    servers: list[McpServerInfo]
    notices: list[str] = []
    """What was left out, and why."""


class McpImported(Struct, frozen=True, omit_defaults=True):
    added: list[str]
    kept: list[str] = []
    """Already there under this name."""
    problems: list[str] = []


class McpResource(Struct, frozen=True, omit_defaults=True):
    server: str
    uri: str
    """Of a template: with {parameters}."""
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


class McpResourceList(Struct, frozen=True):
    resources: list[McpResource]


class McpResourceContent(Struct, frozen=True, omit_defaults=True):
    uri: str
    media_type: str = ""
    text: str = ""
    data: str = ""
    """base64, of what is no text."""


class McpResourceContents(Struct, frozen=True):
    contents: list[McpResourceContent]


class McpPromptArgument(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str = ""
    required: bool = False


class McpPrompt(Struct, frozen=True, omit_defaults=True):
    server: str
    name: str
    description: str = ""
    arguments: list[McpPromptArgument] = []


class McpPromptList(Struct, frozen=True):
    prompts: list[McpPrompt]


class McpPromptMessage(Struct, frozen=True):
    role: Literal["user", "assistant"]
    part: UserPart


class McpPromptMessages(Struct, frozen=True):
    messages: list[McpPromptMessage]


class McpSetting(Struct, frozen=True, omit_defaults=True):
    """A variable that a known server is started with."""

    name: str
    about: str
    required: bool = True
    is_set: bool = False
    """For the daemon."""


class McpCatalogueEntry(Struct, frozen=True, omit_defaults=True):
    """A server that is known, whether it is installed or not."""

    name: str
    about: str
    server: McpServerEntry
    needs: list[McpSetting] = []
    install: str = ""
    """How to get its command."""
    page: str = ""


class McpCatalogue(Struct, frozen=True):
    entries: list[McpCatalogueEntry]


class McpList(
    ReadingOp[McpServers],
    tag="mcp.list",
    needs="read",
    reach="open",
    routes=(GET("/api/mcp/servers"), GET("/api/metrics/mcp-health", "How the MCP servers are.")),
):
    """The MCP servers that count in a folder, or for a session."""

    cwd: str = ""
    session: str = ""


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
    cwd: str = ""


class McpAdd(Op[Done], tag="mcp.add", needs="admin", reach="whole", routes=POST("/api/mcp/servers")):
    """Keep an MCP server in the database."""

    name: str
    server: McpServerEntry
    replace: bool = False


class McpRemove(Op[Done], tag="mcp.remove", needs="admin", reach="whole", routes=DELETE("/api/mcp/servers/{name}")):
    """Remove an MCP server, out of the database or out of the person's own file."""

    name: str


class McpSwitch(
    Op[Done], tag="mcp.switch", needs="admin", reach="whole unless named", routes=POST("/api/mcp/servers/{name}/switch")
):
    """Enable or disable an MCP server, wherever it stands: for all sessions, or for one from its next turn on."""

    name: str
    on: bool
    cwd: str = ""
    session: str = ""


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


class McpResources(
    ReadingOp[McpResourceList], tag="mcp.resources", needs="chat", waits=True, routes=GET("/api/mcp/resources")
):
    """What the servers of a folder let one read. Starts them where need be."""

    cwd: str
    server: str = ""


class McpResourceRead(ReadingOp[McpResourceContents], tag="mcp.resource.read", needs=("chat", "approve"), waits=True):
    """Read what a server offers at an address of its own."""

    cwd: str
    server: str
    uri: str


class McpPrompts(ReadingOp[McpPromptList], tag="mcp.prompts", needs="chat", waits=True, routes=GET("/api/mcp/prompts")):
    """The prompts of a folder's servers. Starts them where need be."""

    cwd: str
    server: str = ""


class McpPromptGet(ReadingOp[McpPromptMessages], tag="mcp.prompt.get", needs=("chat", "approve"), waits=True):
    """A prompt, filled in."""

    cwd: str
    server: str
    name: str
    arguments: dict[str, str] = {}


class McpLogin(Op[LoginStarted], tag="mcp.login", needs="admin", reach="whole", waits=True):
    """Start a login to a server. It ends when the browser comes back to the daemon, or with `mcp.login.finish`."""

    name: str
    cwd: str = ""


class McpLoginFinish(Op[Done], tag="mcp.login.finish", needs="admin", reach="whole", waits=True):
    """Finish a login to a server. Answered when it has ended, well or not."""

    login: str
    answer: str = ""
    """The address the browser ended at. Empty: only wait for the browser."""

    def __repr__(self) -> str:
        return f"McpLoginFinish(login={self.login!r})"


class McpSessionServers(Op[Done], tag="mcp.session.set", needs="admin"):
    """Servers for one session alone, in the place of those it was given before: kept in memory, and gone with none.
    A name comes before the same one elsewhere."""

    session: str
    servers: dict[str, McpServerEntry]


class McpLogout(Op[Done], tag="mcp.logout", needs="admin", reach="whole"):
    """Forget a login to a server."""

    name: str


class McpCatalog(
    ReadingOp[McpCatalogue], tag="mcp.catalog", needs="read", reach="open", routes=GET("/api/mcp/catalog")
):
    """The servers that are known, with the settings they need."""

    name: str = ""
