"""Which servers there are: the `mcpServers` of a JSON file."""

import re
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct, field

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpOAuth, McpServerEntry

TransportKind = Literal["stdio", "http", "sse"]
DEFAULT_TIMEOUT = 60.0
PROJECT_FILES = (".mcp.json", "mcpServers.json")
"""In the folder of a project that is trusted."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_KINDS: dict[str, TransportKind] = {
    "": "stdio",
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


class ServerFile(Struct, frozen=True):
    servers: dict[str, msgspec.Raw] = field(name="mcpServers", default_factory=dict[str, msgspec.Raw])
    disabled: list[str] = []
    """Servers of any file that are switched off, by name."""


class ServerDefinition(Struct, frozen=True, kw_only=True):
    """A server that can be started. Two that are equal are the same server."""

    name: str
    transport: TransportKind
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    timeout: float = DEFAULT_TIMEOUT
    network: str | list[str] = ""
    enabled: bool = True
    source: str = ""
    """The file it stands in, or `database`."""
    description: str = ""
    oauth: McpOAuth = McpOAuth()

    def __repr__(self) -> str:
        return f"ServerDefinition({self.name!r}, {self.transport})"

    @property
    def target(self) -> str:
        """For people: without arguments and headers, which may hold secrets."""
        return self.command or self.url.partition("?")[0]


class FoundServers(Struct, frozen=True):
    servers: dict[str, ServerDefinition]
    problems: list[str]
    disabled: list[str]


def read_servers(text: bytes, source: str, expand: Callable[[str], str]) -> FoundServers:
    """`expand` fills in `${VARIABLES}`, and raises OpenAgentError for one that is not set."""
    try:
        file = msgspec.json.decode(text, type=ServerFile)
    except msgspec.DecodeError as problem:
        return FoundServers({}, [f"{source}: {problem}."], [])
    servers: dict[str, ServerDefinition] = {}
    problems: list[str] = []
    for name, raw in file.servers.items():
        try:
            entry = msgspec.json.decode(raw, type=McpServerEntry)
            servers[name] = define(name, entry, source, expand)
        except msgspec.DecodeError as problem:
            problems.append(f"{source}: server {name!r}: {problem}.")
        except OpenAgentError as problem:
            problems.append(f"{source}: {problem.info.message}")
    return FoundServers(servers, problems, file.disabled)


def define(name: str, entry: McpServerEntry, source: str, expand: Callable[[str], str]) -> ServerDefinition:
    """Raises OpenAgentError('config_error') for what cannot be a server."""
    kind = _KINDS.get(entry.kind or ("http" if entry.url and not entry.command else ""))
    if not _NAME.fullmatch(name):
        raise _unfit(name, "its name may have 40 letters, digits, dots, dashes and underscores")
    if kind is None:
        raise _unfit(name, f"its type {entry.kind!r} is none of stdio, http and sse")
    if kind == "stdio" and not entry.command:
        raise _unfit(name, "it has neither a command nor a url")
    if kind != "stdio" and not entry.url.startswith(("http://", "https://", "${")):
        raise _unfit(name, "its url is no http address")
    if not 0 < entry.timeout <= 86_400:
        raise _unfit(name, "its timeout is not between 0 and 86400 seconds")
    return ServerDefinition(
        name=name,
        transport=kind,
        command=expand(entry.command),
        args=[expand(argument) for argument in entry.args],
        env={key: expand(value) for key, value in entry.env.items()},
        url=expand(entry.url),
        headers={key: expand(value) for key, value in entry.headers.items()},
        timeout=entry.timeout,
        network=entry.network,
        enabled=not entry.disabled,
        source=source,
        description=entry.description,
        oauth=McpOAuth(expand(entry.oauth.client_id), expand(entry.oauth.client_secret), entry.oauth.scopes),
    )


def _unfit(name: str, why: str) -> OpenAgentError:
    return OpenAgentError("config_error", f"The MCP server {name!r} cannot be used: {why}.", hint="Change its entry.")
