"""What a context is made of, and what it costs: for those who write a collector."""

from collections.abc import Iterable, Sequence

import msgspec

from openagent.plugins.collector import ContextItem
from openagent.protocol.messages import (
    ImagePart,
    Message,
    NotePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

IMAGE_TOKENS = 1_600
"""About what a provider counts for an image, however many bytes it has."""
CHARACTERS_PER_TOKEN = 4
_MESSAGE_FRAME = 4
_CALL_FRAME = 12


def text_tokens(text: str) -> int:
    """Good enough to decide what fits; what is billed comes from the provider. Outside ASCII a character is a token."""
    if text.isascii():
        return len(text) // CHARACTERS_PER_TOKEN
    foreign = sum(character > "\x7f" for character in text)
    return (len(text) - foreign) // CHARACTERS_PER_TOKEN + foreign


def message_tokens(message: Message) -> int:
    return _MESSAGE_FRAME + sum(map(part_tokens, message.parts))


def part_tokens(part: Part) -> int:
    match part:
        case TextPart() | NotePart():
            return text_tokens(part.text)
        case ThinkingPart():
            return text_tokens(part.text) + len(part.signature or part.redacted or "") // CHARACTERS_PER_TOKEN
        case ToolCallPart():
            return _CALL_FRAME + text_tokens(part.name + msgspec.json.encode(part.arguments).decode())
        case ImagePart():
            return IMAGE_TOKENS
        case ToolResultPart():
            return _CALL_FRAME + text_tokens(part.text) + IMAGE_TOKENS * len(part.images)


def units(context: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """What can only go together: an answer with the results of its calls; everything else stands alone."""
    found: list[list[ContextItem]] = []
    answering: dict[str, list[ContextItem]] = {}
    for item in context:
        message = item.message
        unit = answering.get(call_id(message)) if message.role == "tool" else None
        if unit is not None:
            unit.append(item)
            continue
        found.append([item])
        answering |= dict.fromkeys((call.id for call in message.tool_calls), found[-1])
    return found


def is_pinned(unit: Iterable[ContextItem]) -> bool:
    return any(item.pinned for item in unit)


def call_id(message: Message) -> str:
    return next((part.call_id for part in message.parts if isinstance(part, ToolResultPart)), "")


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Inclusive, in order."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def within(number: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(low <= number <= high for low, high in spans)


def shortened(message: Message, text: str | None) -> Message:
    """As the model sees it once a collection has `replaced` it; the same without a text."""
    if text is None:
        return message
    parts: list[Part] = [
        msgspec.structs.replace(part, text=text, images=[]) if isinstance(part, ToolResultPart) else part
        for part in message.parts
        if not isinstance(part, ImagePart)
    ]
    if message.role == "user":
        parts.append(NotePart("summary", text))
    return msgspec.structs.replace(message, parts=parts)
