"""What takes how much of a window: a view, told by sections and by messages."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from openagent.core.view import View
from openagent.core.view_log import REWIND, standing
from openagent.plugins.context import IMAGE_TOKENS, call_id, part_tokens, text_tokens
from openagent.plugins.store import CollectionRecord
from openagent.protocol.context import CollectionInfo, ContextMessage, ContextSection
from openagent.protocol.messages import ImagePart, Message, NotePart, Part, TextPart, ThinkingPart, ToolResultPart

_NOTES = {"rules": "rules", "summary": "summary", "code": "retrieved code", "map": "repository map"}
_ABOUT = 80


class _Piece(NamedTuple):
    section: str
    tokens: int
    items: int


def sections(view: View, cached_tokens: int) -> list[ContextSection]:
    """In the order they are sent. A cache holds a prompt's beginning, so the first ones are the cached ones."""
    scale = view.tokens() / max(view.estimated(), 1)
    found: dict[str, ContextSection] = {}
    left = cached_tokens
    for piece in _pieces(view):
        tokens = round(piece.tokens * scale)
        cached = min(tokens, left)
        left -= cached
        before = found.get(piece.section, ContextSection(piece.section, 0))
        found[piece.section] = ContextSection(
            piece.section, before.tokens + tokens, before.items + piece.items, before.cached_tokens + cached
        )
    return list(found.values())


def messages(view: View, log: list[CollectionRecord]) -> list[ContextMessage]:
    scale = view.tokens() / max(view.estimated(), 1)
    shortened = {number for record in standing(log) for number in record.replaced}
    return [
        ContextMessage(
            number=item.message.number,
            role=item.message.role,
            tokens=round(item.tokens * scale),
            about=_about(item.message),
            section=_section(item.message.role, item.message.parts[0]),
            pinned=item.pinned,
            shortened=item.message.number in shortened,
        )
        for item in view.items()
    ]


def collections(log: list[CollectionRecord]) -> list[CollectionInfo]:
    holding = {record.id for record in standing(log)}
    return [
        CollectionInfo(
            id=record.id,
            collector=record.collector,
            at=record.at,
            messages=sum(high - low + 1 for low, high in record.hidden),
            shortened=len(record.replaced),
            tokens_freed=record.tokens_freed,
            summary=record.summary,
            holds=record.id in holding,
        )
        for record in log
        if record.collector != REWIND and (record.hidden or record.replaced)
    ]


def _pieces(view: View) -> Iterator[_Piece]:
    for tool in view.tools:
        yield _Piece("tools", text_tokens(msgspec.json.encode(tool).decode()), 1)
    for name, text in view.system_sections.items():
        yield _Piece(name, text_tokens(text), 1)
    if view.lead_tokens:
        yield _Piece("summary", view.lead_tokens, 1)
    for item in view.items():
        left, seen = item.tokens, set[str]()
        for place, part in enumerate(item.message.parts):
            images = _images(part) * IMAGE_TOKENS
            if images:
                yield _Piece("images", images, _images(part))
            tokens = part_tokens(part) - images
            if place == len(item.message.parts) - 1:
                tokens = left - images
            left -= tokens + images
            if not isinstance(part, ImagePart):
                section = _section(item.message.role, part)
                yield _Piece(section, tokens, int(section not in seen))
                seen.add(section)


def _images(part: Part) -> int:
    return 1 if isinstance(part, ImagePart) else len(part.images) if isinstance(part, ToolResultPart) else 0


def _section(role: str, part: Part) -> str:
    match part:
        case NotePart():
            return _NOTES.get(part.source.partition(":")[0], "notes")
        case ThinkingPart():
            return "thinking"
        case TextPart():
            return role
        case ImagePart():
            return "images"
        case _:
            return f"tool: {part.name}"


def _about(message: Message) -> str:
    if call_id(message):
        text = next(part.text for part in message.parts if isinstance(part, ToolResultPart))
    else:
        notes = " ".join(part.text for part in message.parts if isinstance(part, NotePart))
        calls = ", ".join(call.name for call in message.tool_calls)
        text = message.text or notes or (f"calls {calls}" if calls else "")
    return " ".join(text[: 4 * _ABOUT].split())[:_ABOUT]
