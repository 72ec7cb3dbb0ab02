"""What the model is shown.

Append-only: from step to step a view only grows at its end, so a provider's prompt cache always hits. Only a
collection changes what was already there.
"""

from collections.abc import Iterable, Sequence

import msgspec

from openagent.core.runtime import ResolvedModel
from openagent.plugins.collector import Collection, ContextItem
from openagent.plugins.provider import ModelRequest, ToolSchema
from openagent.plugins.store import CollectionRecord
from openagent.protocol.messages import Message, NotePart, TextPart, ToolResultPart
from openagent.protocol.sessions import Settings

DEFAULT_WINDOW = 128_000
REWIND = "rewind"
"""What stands as the collector of messages that were taken back."""
SUMMARY_HEADING = "[Summary of the earlier conversation]\n"


def estimate_tokens(message: Message) -> int:
    """Good enough to decide what fits; what is billed comes from the provider."""
    return len(msgspec.json.encode(message.parts)) // 4 + 4


class View:
    def __init__(self, system: str, messages: Iterable[Message], collections: Sequence[CollectionRecord]) -> None:
        self.system = system
        self.collections = len(collections)
        self._shown: list[Message] = []
        """Results stand in the order of their calls, whichever finished first."""
        self._results_start = 0
        self._call_order: dict[str, int] = {}
        self._summary = ""
        self.pinned: dict[str, str] = {}
        """The notes that no collector takes away: source to text."""
        for message in messages:
            self.append(message)
        undone = {number for record in collections for number in record.undone}
        for record in collections:
            if record.id in undone:
                continue
            if record.collector == REWIND:
                self._hide(record.hidden, even_pinned=True)
            else:
                self._apply(record.hidden, record.summary, record.replaced)

    def append(self, message: Message) -> None:
        if not message.parts:
            return
        self._shown.append(message)
        self.pinned |= {note.source: note.text for note in _pinned(message)}
        if message.role != "tool":
            self._results_start = len(self._shown)
            self._call_order = {call.id: place for place, call in enumerate(message.tool_calls)}
        elif len(self._shown) - self._results_start > 1:
            last = len(self._call_order)
            results = self._shown[self._results_start :]
            results.sort(key=lambda result: self._call_order.get(_call_id(result), last))
            self._shown[self._results_start :] = results

    def collect(self, collection: Collection) -> None:
        self._apply(collection.hidden, collection.summary, collection.replaced)
        self.collections += 1

    def items(self) -> list[ContextItem]:
        return [ContextItem(message, estimate_tokens(message)) for message in self._shown]

    def tokens(self) -> int:
        return len(self.system) // 4 + sum(item.tokens for item in self.items())

    def request(
        self, session: str, resolved: ResolvedModel, settings: Settings, tools: Sequence[ToolSchema]
    ) -> ModelRequest:
        messages = list(self._shown)
        if self._summary:
            summary = TextPart(SUMMARY_HEADING + self._summary)
            messages.insert(0, Message(number=0, role="user", parts=[summary]))
        return ModelRequest(
            model=resolved.model,
            system=self.system,
            messages=messages,
            tools=tools,
            max_output_tokens=settings.max_output_tokens or resolved.max_output_tokens,
            temperature=settings.temperature,
            thinking=settings.thinking,
            session=session,
        )

    def _apply(self, hidden: Sequence[tuple[int, int]], summary: str, replaced: dict[int, str]) -> None:
        self._shown = [_shortened(message, replaced) for message in self._shown]
        self._hide(hidden)
        if hidden:
            self._summary = summary

    def _hide(self, hidden: Sequence[tuple[int, int]], *, even_pinned: bool = False) -> None:
        def goes(message: Message) -> bool:
            held = any(self.pinned[note.source] == note.text for note in _pinned(message)) and not even_pinned
            return not held and any(low <= message.number <= high for low, high in hidden)

        kept = [message for message in self._shown if not goes(message)]
        self._shown, self.pinned = [], {}
        for message in kept:
            self.append(message)


def _shortened(message: Message, replaced: dict[int, str]) -> Message:
    text = replaced.get(message.number)
    if text is None:
        return message
    parts = [
        msgspec.structs.replace(part, text=text, images=[]) if isinstance(part, ToolResultPart) else part
        for part in message.parts
    ]
    return msgspec.structs.replace(message, parts=parts)


def _pinned(message: Message) -> list[NotePart]:
    """A later one from the same source takes an earlier one's place."""
    return [part for part in message.parts if isinstance(part, NotePart) and part.pinned]


def _call_id(message: Message) -> str:
    return next((part.call_id for part in message.parts if isinstance(part, ToolResultPart)), "")
