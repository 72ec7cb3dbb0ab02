"""What an editor's prompt holds, as parts of a message; and parts as an editor shows them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from openagent.gateway.acp.wire import Block, ImageBlock, LinkBlock, Resource, ResourceBlock, TextBlock
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ImagePart, TextPart, UserPart

MAX_BUFFER = 100_000
"""Characters of an unsaved buffer that are passed on."""
ReadBuffer = Callable[[str], Awaitable[str | None]]


async def parts_of(blocks: Sequence[Block], read_buffer: ReadBuffer | None) -> list[UserPart]:
    """`read_buffer` tells a file's text as the editor has it, saved or not; None when the editor does not."""
    parts: list[UserPart] = []
    for block in blocks:
        match block:
            case TextBlock():
                parts.append(TextPart(block.text))
            case ImageBlock():
                parts.append(ImagePart(block.mime_type, block.data))
            case LinkBlock():
                parts += await _linked(block, read_buffer)
            case ResourceBlock():
                parts.append(_embedded(block.resource))
            case _:
                raise OpenAgentError("invalid_argument", "Audio is not understood.", hint="Send text or images.")
    return parts


async def _linked(link: LinkBlock, read_buffer: ReadBuffer | None) -> list[UserPart]:
    path = file_of(link.uri)
    named = TextPart(f"[{link.name or path or link.uri}]({path or link.uri})")
    text = await read_buffer(path) if path and read_buffer else None
    if text is None or len(text) > MAX_BUFFER or text == await asyncio.to_thread(_saved, path):
        return [named]
    return [named, TextPart(f'\n<unsaved path="{path}">\n{text}\n</unsaved>\n')]


def file_of(uri: str) -> str:
    """The path that a file's address names; empty for any other address."""
    address = urlsplit(uri)
    return unquote(address.path) if address.scheme == "file" and address.netloc in ("", "localhost") else ""


def _saved(path: str) -> str | None:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _embedded(resource: Resource) -> UserPart:
    name = file_of(resource.uri) or resource.uri
    if resource.text is not None:
        return TextPart(f'\n<resource path="{name}">\n{resource.text}\n</resource>\n')
    media_type = resource.mime_type or ""
    if resource.blob is not None and media_type.startswith("image/"):
        return ImagePart(media_type, resource.blob)
    return TextPart(f"[{name}: {media_type or 'binary'}, not shown]")


def block_of(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        return {"type": "image", "mimeType": part.media_type, "data": part.data}
    return text_block(part.text)


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
