"""A server's tool as one a model may call."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from openagent.plugins.provider import ToolSchema
from openagent.plugins.tool import ToolContext, ToolEffect, ToolOutcome, Touched, touched
from openagent.protocol.about import About
from openagent.protocol.messages import ImagePart
from openagent.tools.mcp.offer import OfferedTool
from openagent.tools.mcp.server import McpServer
from openagent.tools.mcp.words import description, misfit, parameters
from openagent.tools.scratch import shortened

if TYPE_CHECKING:
    import mcp_types as types

MAX_IMAGES = 8
MAX_IMAGE = 5 << 20
MAX_SUMMARY = 200
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class McpTool:
    effect: ToolEffect = "execute"
    """Always: what a server says about its tools' effects is not to be relied on."""
    read_only = False
    about = About(words=("call", "calling", "called"))

    def __init__(self, server: McpServer, offered: OfferedTool, name: str) -> None:
        self._server = server
        self._offered = offered
        self.name = name
        self.source = f"mcp:{server.name}"
        self.schema = ToolSchema(
            name=name,
            description=description(server.name, offered.description),
            parameters=parameters(offered.schema),
        )

    def effect_of(self, arguments: Mapping[str, Any]) -> ToolEffect:
        return self.effect

    def touches(self, arguments: Mapping[str, Any]) -> Touched:
        return touched(arguments, self.about)

    def summarize(self, arguments: Mapping[str, Any]) -> str:
        given = msgspec.json.encode(arguments).decode() if arguments else ""
        return f"{self._server.name}: {self._offered.name} {given}"[:MAX_SUMMARY].strip()

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        return misfit(self.schema.parameters, arguments)

    async def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutcome:
        result = await self._server.call(self._offered.name, arguments, context)
        return await asyncio.to_thread(outcome_of, context, result)


def outcome_of(context: ToolContext, result: "types.CallToolResult") -> ToolOutcome:
    """Long text goes to a file; pictures are kept as long as a model can take them."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for block in result.content:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "image" and _fits(block.mime_type, block.data, images):
            images.append(ImagePart(media_type=block.mime_type, data=block.data))
        elif block.type == "resource":
            uri, text = block.resource.uri, getattr(block.resource, "text", None)
            texts.append(f"[resource {uri}]\n{text}" if text is not None else f"[resource {uri}: no text]")
        elif block.type == "resource_link":
            texts.append(f"[resource {block.uri}] {block.name}")
        else:
            texts.append(f"[{block.type} left out]")
    if not texts and result.structured_content is not None:
        texts.append(msgspec.json.encode(result.structured_content).decode())
    text = shortened(context, "\n".join(texts)) or ("" if images else "(no output)")
    return ToolOutcome(text, is_error=bool(result.is_error), images=images)


def _fits(media_type: str, data: str, images: list[ImagePart]) -> bool:
    return media_type in _IMAGES and len(data) <= MAX_IMAGE and len(images) < MAX_IMAGES
