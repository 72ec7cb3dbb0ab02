"""Which servers there are: the `mcpServers` of a JSON file."""

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpOAuth, McpServerEntry
from openagent.tools.mcp.foreign_entries import entry_from
from openagent.tools.mcp.foreign_files import read_foreign

TransportKind = Literal["stdio", "http", "sse"]
DEFAULT_TIMEOUT = 60.0
OWN_FILE = "mcpServers.json"
"""Beside the person's config.toml."""
WORKSPACE_FOLDER = "workspaceFolder"
"""The variable that stands for the workspace a server is started for; it is filled in then."""
PROJECT_FILES = (".mcp.json", OWN_FILE)
"""In the folder of a project that is trusted."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_FETCHING = frozenset(("npx", "uvx", "uv", "bunx", "bun", "pnpm", "pnpx", "yarn", "pipx", "deno", "docker"))
_KINDS: dict[str, TransportKind] = {
    "": "stdio",
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


class ServerDefinition(Struct, frozen=True, kw_only=True):
    """A server that can be started. Two that are equal are the same server."""

    name: str
    transport: TransportKind
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    cwd: str = ""
    folders: list[str] = []
    timeout: float = DEFAULT_TIMEOUT
    start_timeout: float = 0.0
    tools: list[str] = []
    without_tools: list[str] = []
    network: str | list[str] = ""
    enabled: bool = True
    problem: str = ""
    """Why it cannot be started as it is: a variable that is not set."""
    source: str = ""
    """The file it stands in, or `database`."""
    plugin: str = ""
    """The folder of the plugin that brings it."""
    description: str = ""
    oauth: McpOAuth = McpOAuth()

    def __repr__(self) -> str:
        return f"ServerDefinition({self.name!r}, {self.transport})"

    @property
    def is_here(self) -> bool:
        """It runs on this machine."""
        return not self.url or urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")

    @property
    def target(self) -> str:
        """For people: without arguments and headers, which may hold secrets."""
        return self.command or self.url.partition("?")[0]


class FoundServers(Struct, frozen=True):
    servers: dict[str, ServerDefinition]
    problems: list[str]
    disabled: list[str]


def fetches_program(definition: ServerDefinition) -> bool:
    """Its command is one that gets the program first: from a registry, at the first start at least."""
    return PurePath(definition.command).name in _FETCHING


def read_servers(text: bytes, source: str, expand: Callable[[str], str]) -> FoundServers:
    """`expand` fills in `${VARIABLES}`, and raises OpenAgentError for one that is not set."""
    try:
        file = read_foreign(text, source)
    except OpenAgentError as problem:
        return FoundServers({}, [problem.info.message], [])
    manner = "own" if PurePath(source).name == OWN_FILE else file.manner
    servers: dict[str, ServerDefinition] = {}
    problems: list[str] = []
    for name, raw in file.servers.items():
        try:
            servers[name] = define(name, entry_from(raw, manner, lambda _note: None), source, expand)
        except msgspec.ValidationError as problem:
            problems.append(f"{source}: server {name!r}: {str(problem).rstrip('.')}.")
        except OpenAgentError as problem:
            problems.append(f"{source}: {problem.info.message}")
    return FoundServers(servers, problems, file.off)


_FILLED_IN_OAUTH = ("client_id", "client_secret", "private_key", "identity_token")


def define(name: str, entry: McpServerEntry, source: str, expand: Callable[[str], str]) -> ServerDefinition:
    """Raises OpenAgentError('config_error') for what cannot be a server. One that lacks a variable is one all the same,
    and says what is missing."""
    kind = _KINDS.get(entry.kind or ("http" if entry.url and not entry.command else ""))
    if not _NAME.fullmatch(name):
        raise _unfit(name, "its name may have 40 letters, digits, dots, dashes and underscores")
    if kind is None:
        raise _unfit(name, f"its type {entry.kind!r} is none of stdio, http and sse")
    if kind == "stdio" and not entry.command:
        raise _unfit(name, "it has neither a command nor a url")
    if kind != "stdio" and not entry.url.startswith(("http://", "https://", "${")):
        raise _unfit(name, "its url is no http address")
    if not 0 < entry.timeout <= 86_400 or not 0 <= entry.start_timeout <= 86_400:
        raise _unfit(name, "its timeout is not between 0 and 86400 seconds")
    if entry.oauth.grant == "identity_assertion" and not (entry.oauth.issuer and entry.oauth.identity_url):
        raise _unfit(name, "its oauth names no `issuer`, or no `identity_url`")
    problems: dict[str, None] = {}

    def filled(text: str) -> str:
        try:
            return expand(text)
        except OpenAgentError as problem:
            problems[problem.info.message] = None
            return text

    defined = ServerDefinition(
        name=name,
        transport=kind,
        command=filled(entry.command),
        args=[filled(argument) for argument in entry.args],
        env={key: filled(value) for key, value in entry.env.items()},
        url=filled(entry.url),
        headers={key: filled(value) for key, value in entry.headers.items()},
        cwd=filled(entry.cwd),
        folders=[filled(folder) for folder in entry.folders],
        timeout=entry.timeout,
        start_timeout=entry.start_timeout,
        tools=entry.tools,
        without_tools=entry.without_tools,
        network=entry.network,
        enabled=not entry.disabled,
        source=source,
        description=entry.description,
        oauth=msgspec.structs.replace(
            entry.oauth, **{name: filled(getattr(entry.oauth, name)) for name in _FILLED_IN_OAUTH}
        ),
    )
    return msgspec.structs.replace(defined, problem=" ".join(problems)) if problems else defined


def _unfit(name: str, why: str) -> OpenAgentError:
    return OpenAgentError("config_error", f"The MCP server {name!r} cannot be used: {why}.", hint="Change its entry.")
