"""What a context is made of, for those who show it and those who shrink it."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from openagent.plugins.collector import ContextItem
from openagent.protocol.events import ContextThreshold
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
MAX_RESULT = 64_000
"""Characters of one tool result that a model is shown; the built-in tools stop before."""
MAX_IMAGE = 7_000_000
"""Characters of base64: about five megabytes, beyond which providers refuse an image."""
MAX_IMAGES = 20
"""In one message."""
_CHARACTERS_PER_TOKEN = 4
_MESSAGE_FRAME = 4
_CALL_FRAME = 12


def text_tokens(text: str) -> int:
    """Good enough to decide what fits; what is billed comes from the provider. Outside ASCII a character is a token."""
    if text.isascii():
        return len(text) // _CHARACTERS_PER_TOKEN
    foreign = sum(character > "\x7f" for character in text)
    return (len(text) - foreign) // _CHARACTERS_PER_TOKEN + foreign


def message_tokens(message: Message) -> int:
    return _MESSAGE_FRAME + sum(map(part_tokens, message.parts))


def part_tokens(part: Part) -> int:
    match part:
        case TextPart() | NotePart():
            return text_tokens(part.text)
        case ThinkingPart():
            return text_tokens(part.text) + len(part.signature or part.redacted or "") // _CHARACTERS_PER_TOKEN
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


def longest_result(window: int) -> int:
    """Characters of a call's result that are shown: a quarter of a small window."""
    return min(MAX_RESULT, window * _CHARACTERS_PER_TOKEN // 4)


def bounded(message: Message, longest: int = MAX_RESULT) -> Message:
    """The same message where nothing in it is too long to be shown; always cut in the same places."""
    parts = [_bounded_part(part, longest) for part in message.parts]
    if len(parts) > MAX_IMAGES and (spare := _image_places(parts)[MAX_IMAGES:]):
        for place in spare:
            parts[place] = TextPart("[An image is left out: there are too many.]")
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else msgspec.structs.replace(message, parts=parts)


def _bounded_part(part: Part, longest: int) -> Part:
    if isinstance(part, ImagePart) and len(part.data) > MAX_IMAGE:
        return TextPart(f"[An image of {len(part.data) * 3 // 4:,} bytes is left out: it is too large.]")
    if not isinstance(part, ToolResultPart) or (len(part.text) <= longest and not part.images):
        return part
    images = [image for image in part.images if len(image.data) <= MAX_IMAGE][:MAX_IMAGES]
    if len(part.text) <= longest and len(images) == len(part.images):
        return part
    text = part.text
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}\n[… {len(text) - longest:,} characters are left out here …]\n{text[-half:]}"
    if left_out := len(part.images) - len(images):
        text += f"\n[{left_out} images are left out: too large, or too many.]"
    return msgspec.structs.replace(part, text=text, images=images)


def _image_places(parts: Sequence[Part]) -> list[int]:
    return [place for place, part in enumerate(parts) if isinstance(part, ImagePart)]


class ThresholdWatch:
    """Tells once when an answer that is still streaming takes the context past its threshold."""

    def __init__(self, used: int, window: int, threshold: float, tell: Callable[[ContextThreshold], None]) -> None:
        self._characters = _CHARACTERS_PER_TOKEN * used
        self._limit = _CHARACTERS_PER_TOKEN * window * threshold / 100
        self._window, self._threshold = window, threshold
        self._tell = None if self._characters >= self._limit else tell

    def __call__(self, text: str) -> None:
        self._characters += len(text)
        if self._tell is not None and self._characters >= self._limit:
            self._tell(passed_threshold(self._characters // _CHARACTERS_PER_TOKEN, self._window, self._threshold))
            self._tell = None


def passed_threshold(used: int, window: int, threshold: float) -> ContextThreshold:
    percent = round(100.0 * used / window, 1)
    return ContextThreshold(used_tokens=used, window=window, percent=percent, threshold=threshold)
