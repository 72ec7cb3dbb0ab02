"""The MCP servers that installed plugins of Claude Code and extensions of gemini-cli bring."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from openagent.config.plugin_folders import PluginFolder, installed
from openagent.filesystem.plugin_manifests import CLAUDE, GEMINI
from openagent.tools.mcp.definitions import FoundServers, ServerDefinition, read_servers

_ROOTS = ("CLAUDE_PLUGIN_ROOT", "extensionPath")
Expand = Callable[[str, Mapping[str, str]], str]
"""Fills in a text, with these variables beside the usual ones."""


def plugin_servers(env: Mapping[str, str], expand: Expand) -> FoundServers:
    """Of two of one name the first plugin's is taken, and the other named."""
    servers: dict[str, ServerDefinition] = {}
    problems: list[str] = []
    for plugin in installed(env):
        for found in _servers_of(plugin, expand):
            problems += found.problems
            for name, each in found.servers.items():
                if name in servers:
                    first = servers[name].source
                    problems.append(
                        f"{plugin.name}: its MCP server {name!r} is left out: {first} has one of that name."
                    )
                else:
                    servers[name] = msgspec.structs.replace(each, plugin=str(plugin.folder))
    return FoundServers(servers, problems, [])


def _servers_of(plugin: PluginFolder, expand: Expand) -> Iterator[FoundServers]:
    root = {name: str(plugin.folder) for name in _ROOTS}
    manifest = plugin.folder / (CLAUDE if plugin.form == "claude" else GEMINI)
    if plugin.servers_given:
        given = msgspec.json.encode({"mcpServers": plugin.servers_given})
        yield read_servers(given, str(manifest), lambda text: expand(text, root))
    for file in plugin.server_files():
        yield _read(file, lambda text: expand(text, root))


def _read(file: Path, expand: Callable[[str], str]) -> FoundServers:
    try:
        return read_servers(file.read_bytes(), str(file), expand)
    except OSError as problem:
        return FoundServers({}, [f"{file}: {problem.strerror}."], [])
