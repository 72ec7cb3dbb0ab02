"""Replace old tool results by pointers that the model can read back; drop turns only when that is not enough."""

from collections.abc import Callable, Sequence

import msgspec

from openagent.collectors.choosing import candidates, numbers
from openagent.collectors.truncate import oldest
from openagent.plugins.collector import CollectGoal, Collection, Collector, ContextItem, Summarize
from openagent.plugins.context import message_tokens, shortened
from openagent.protocol.messages import ImagePart, ToolResultPart

WORTHWHILE = 100
"""Tokens below which a pointer saves next to nothing."""
_BEGINNING = 80


def collector(_redact: Callable[[str], str]) -> Collector:
    return Evict()


class Evict:
    name = "evict"

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        replaced: dict[int, str] = {}
        freed = 0
        left = {item.message.number: item for item in context}
        old, recent = candidates(context, goal.keep_turns)
        for item in (item for unit in (*old, *recent) for item in unit):
            if freed >= goal.free_tokens:
                break
            number, pointer = item.message.number, _pointer(item)
            saved = item.tokens - message_tokens(shortened(item.message, pointer)) if pointer else 0
            if saved >= WORTHWHILE:
                replaced[number] = pointer
                left[number] = msgspec.structs.replace(item, tokens=item.tokens - saved)
                freed += saved
        going = oldest(list(left.values()), goal.keep_turns, goal.free_tokens - freed)
        if not replaced and not going:
            return None
        return Collection(hidden=numbers(going), replaced=replaced)


def _pointer(item: ContextItem) -> str:
    message = item.message
    how = f"recall(message={message.number}) reads it back"
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            beginning = " ".join(part.text[:_BEGINNING].split())
            return f"[Left out: {item.tokens:,} tokens that {part.name} returned, beginning “{beginning}”. {how}.]"
    images = sum(isinstance(part, ImagePart) for part in message.parts)
    return f"[Left out: {images} image{'s' * (images > 1)}. {how}.]" if images else ""
