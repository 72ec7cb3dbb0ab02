"""MCP servers, as clients see and write them."""

from typing import Literal

from msgspec import Struct, field


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
    """The file it stands in."""


class McpServers(Struct, frozen=True, omit_defaults=True):
    servers: list[McpServerInfo]
    notices: list[str] = []
    """What was left out, and why."""


class McpImported(Struct, frozen=True, omit_defaults=True):
    added: list[str]
    kept: list[str] = []
    """Already there under this name."""
    problems: list[str] = []
