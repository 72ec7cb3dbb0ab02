"""What a sub-agent may use: what its template asks for, within what its caller has."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from openagent.plugins.tool import Tool, has_tool
from openagent.protocol.sessions import Settings

_READS = frozenset({"read", "none", "network"})


class Usable(NamedTuple):
    """As in a session's settings: None is all."""

    tools: list[str] | None
    mcp_servers: list[str] | None


def within(asked: Settings, held: Settings, known: Iterable[Tool]) -> dict[str, Any]:
    """The settings by which a session has the tools that both of these have, and no others."""
    usable = _usable(asked, held, {tool.name: _server(tool) for tool in known})
    settings: dict[str, Any] = {"tools": usable.tools, "mcp_servers": usable.mcp_servers}
    for name in ("disabled_tools", "disabled_mcp_servers"):
        if disabled := list(dict.fromkeys([*getattr(asked, name), *getattr(held, name)])):
            settings[name] = disabled
    return settings


def can_write(settings: Settings, known: Iterable[Tool]) -> bool:
    return settings.mode != "plan" and any(has_tool(settings, tool) and tool.effect not in _READS for tool in known)


def withheld(asked: Sequence[str] | None, given: Settings) -> list[str]:
    """What a template names and does not get."""
    tools, disabled = given.tools, given.disabled_tools
    return [name for name in asked or () if name in disabled or (tools is not None and name not in tools)]


def _usable(one: Settings, other: Settings, server_of: Mapping[str, str]) -> Usable:
    if (one.mcp_servers is None) == (other.mcp_servers is None):
        return Usable(_common(one.tools, other.tools), _common(one.mcp_servers, other.mcp_servers))
    by_server, by_name = (one, other) if one.mcp_servers is not None else (other, one)
    if by_name.tools is None:
        return Usable(by_server.tools, by_server.mcp_servers)
    # Whole servers on one side and single tools on the other: what is left are single tools.
    servers = by_server.mcp_servers or ()
    names = [
        name
        for name in by_name.tools
        if (server_of[name] in servers if server_of.get(name) else by_server.tools is None or name in by_server.tools)
    ]
    return Usable(names, None)


def _common(one: list[str] | None, other: list[str] | None) -> list[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return [name for name in one if name in other]


def _server(tool: Tool) -> str:
    server = tool.source.removeprefix("mcp:")
    return server if server != tool.source else ""


def narrowed(child: Settings, caller: Settings, known: Iterable[Tool]) -> dict[str, Any]:
    """What changes in a sub-agent's settings now that its caller has less; empty when nothing does."""
    allowed = within(child, caller, known)
    return {} if msgspec.structs.replace(child, **allowed) == child else allowed
