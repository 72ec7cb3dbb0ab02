"""MCP servers, as clients see and write them."""

from typing import ClassVar, Literal

from msgspec import Struct, field

from openagent.protocol.op import Op


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


class McpList(Op, frozen=True, kw_only=True, tag="mcp.list"):
    """The MCP servers that count in a folder, or for a session."""

    cwd: str = ""
    session: str = ""


class McpTest(Op, frozen=True, kw_only=True, tag="mcp.test"):
    """Start a server, or all of them, and tell what they offer."""

    waits: ClassVar[bool] = True
    name: str = ""
    cwd: str = ""


class McpAdd(Op, frozen=True, kw_only=True, tag="mcp.add"):
    """Keep a server in the database."""

    name: str
    server: McpServerEntry
    replace: bool = False


class McpRemove(Op, frozen=True, kw_only=True, tag="mcp.remove"):
    """Out of the database, or out of the person's own file."""

    name: str


class McpSwitch(Op, frozen=True, kw_only=True, tag="mcp.switch"):
    """Enable or disable a server, wherever it stands: for all sessions, or for one from its next turn on."""

    name: str
    on: bool
    cwd: str = ""
    session: str = ""


class McpImport(Op, frozen=True, kw_only=True, tag="mcp.import"):
    """Copy the servers of another program's file into the database; what is there already stays."""

    path: str
