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
from openagent.protocol.messages import Message, TextPart, ToolResultPart
from openagent.protocol.sessions import Settings

DEFAULT_WINDOW = 128_000
SUMMARY_HEADING = "[Summary of the earlier conversation]\n"


def estimate_tokens(message: Message) -> int:
    """Good enough to decide what fits; what is billed comes from the provider."""
    return len(msgspec.json.encode(message.parts)) // 4 + 4


class View:
    def __init__(self, system: str, messages: Iterable[Message], collections: Sequence[CollectionRecord]) -> None:
        self.system = system
        self._messages = list(messages)
        self._summary = ""
        self._replaced: dict[int, str] = {}
        self.collections = len(collections)
        for record in collections:
            self._apply(record.hidden, record.summary, record.replaced)

    def append(self, message: Message) -> None:
        self._messages.append(message)

    def collect(self, collection: Collection) -> None:
        self._apply(collection.hidden, collection.summary, collection.replaced)
        self.collections += 1

    def items(self) -> list[ContextItem]:
        return [ContextItem(message, estimate_tokens(message)) for message in self._shown()]

    def tokens(self) -> int:
        return len(self.system) // 4 + sum(item.tokens for item in self.items())

    def request(
        self, session: str, resolved: ResolvedModel, settings: Settings, tools: Sequence[ToolSchema]
    ) -> ModelRequest:
        messages = self._shown()
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

    def _shown(self) -> list[Message]:
        """Results stand in the order of their calls, whichever finished first."""
        shown: list[Message] = []
        order: dict[str, int] = {}
        run_start = 0
        for message in self._messages:
            if not message.parts:
                continue
            if message.role == "tool":
                shown.append(self._shortened(message))
                continue
            _sort_results(shown, run_start, order)
            shown.append(message)
            order = {call.id: place for place, call in enumerate(message.tool_calls)}
            run_start = len(shown)
        _sort_results(shown, run_start, order)
        return shown

    def _shortened(self, message: Message) -> Message:
        text = self._replaced.get(message.number)
        if text is None:
            return message
        parts = [
            msgspec.structs.replace(part, text=text, images=[]) if isinstance(part, ToolResultPart) else part
            for part in message.parts
        ]
        return msgspec.structs.replace(message, parts=parts)

    def _apply(self, hidden: Sequence[tuple[int, int]], summary: str, replaced: dict[int, str]) -> None:
        self._messages = [
            message for message in self._messages if not any(low <= message.number <= high for low, high in hidden)
        ]
        self._replaced |= replaced
        if hidden:
            self._summary = summary


def _sort_results(shown: list[Message], start: int, order: dict[str, int]) -> None:
    if len(shown) - start > 1:
        shown[start:] = sorted(shown[start:], key=lambda message: order.get(_call_id(message), len(order)))


def _call_id(message: Message) -> str:
    return next((part.call_id for part in message.parts if isinstance(part, ToolResultPart)), "")
