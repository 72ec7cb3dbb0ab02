"""Resources of servers, for models: which there are, and what is in one."""

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

from openagent.plugins.tool import Tool, ToolContext, ToolOutcome, tool
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpResource, McpResourceContent
from openagent.protocol.messages import ImagePart
from openagent.tools.mcp.server import McpServer
from openagent.tools.scratch import shortened

if TYPE_CHECKING:
    import mcp_types as types

NAMES = ("list_mcp_resources", "read_mcp_resource")
SHOWN = 100
MAX_IMAGE = 5 << 20
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

ServersOf = Callable[[str], Mapping[str, McpServer]]
"""The servers that a session uses."""


def resource_tools(servers_of: ServersOf) -> list[Tool]:
    @tool(
        effect="none",
        kind="search",
        words=("list resources", "listing resources", "listed resources"),
        summary="server",
    )
    async def list_mcp_resources(
        context: ToolContext, server: Annotated[str, "Only of this MCP server."] = ""
    ) -> ToolOutcome:
        """List the resources (files, records, documents) that MCP servers let you read."""
        listed = [
            f"{each.server} {each.uri}  {each.name}{f': {each.description}' if each.description else ''}"
            + (" (fill in the {parameters})" if each.is_template else "")
            for each in resources_of(servers_of(context.session))
            if server in ("", each.server)
        ]
        more = f"\n[{len(listed) - SHOWN} more; name a server]" if len(listed) > SHOWN else ""
        return ToolOutcome("\n".join(listed[:SHOWN]) + more or "There are none.")

    @tool(effect="execute", kind="read", words=("call", "calling", "called"), summary="{server}: read {uri}")
    async def read_mcp_resource(
        context: ToolContext,
        server: Annotated[str, "The MCP server that has it."],
        uri: Annotated[str, "As list_mcp_resources shows it."],
    ) -> ToolOutcome:
        """Read a resource of an MCP server."""
        asked = servers_of(context.session).get(server)
        if asked is None:
            raise OpenAgentError(
                "tool_error", f"There is no MCP server {server!r} here.", hint="`list_mcp_resources` shows them."
            )
        result = await asked.read_resource(uri, context)
        return await asyncio.to_thread(_outcome, context, contents_of(result))

    return [list_mcp_resources, read_mcp_resource]


def resources_of(servers: Mapping[str, McpServer]) -> list[McpResource]:
    return [
        McpResource(
            server=name,
            uri=each.uri,
            name=each.name,
            description=each.description,
            media_type=each.media_type,
            is_template=each.is_template,
        )
        for name, server in servers.items()
        for each in server.offer.resources
    ]


def contents_of(result: "types.ReadResourceResult") -> list[McpResourceContent]:
    return [
        McpResourceContent(
            uri=str(content.uri),
            media_type=content.mime_type or "",
            text=getattr(content, "text", ""),
            data=getattr(content, "blob", ""),
        )
        for content in result.contents
    ]


def _outcome(context: ToolContext, contents: list[McpResourceContent]) -> ToolOutcome:
    texts: list[str] = []
    images: list[ImagePart] = []
    for content in contents:
        if content.media_type in _IMAGES and 0 < len(content.data) <= MAX_IMAGE:
            images.append(ImagePart(media_type=content.media_type, data=content.data))
        elif content.data:
            texts.append(f"[{content.uri}: {content.media_type or 'binary'}, {_size(content.data)} bytes]")
        else:
            texts.append(content.text)
    return ToolOutcome(shortened(context, "\n".join(texts)) or ("" if images else "(empty)"), images=images)


def _size(data: str) -> int:
    try:
        return len(base64.b64decode(data))
    except binascii.Error:
        return len(data)
