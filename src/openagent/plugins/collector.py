"""A strategy that shrinks a context that has grown too large. Pure: it proposes, the session records."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from openagent.protocol.messages import Message

Summarize = Callable[[Sequence[Message], str], Awaitable[str]]
"""Messages and an instruction to a summary, by the session's own model, counted against its budget."""


class ContextItem(Struct, frozen=True):
    """A message the model sees, and what it costs."""

    message: Message
    tokens: int


class CollectGoal(Struct, frozen=True):
    free_tokens: int
    """At least this much should go."""
    keep_turns: int
    """The newest turns are not touched, unless nothing else is left."""


class Collection(Struct, frozen=True):
    """What a collector proposes. Hidden messages stay in the store."""

    hidden: list[tuple[int, int]] = []
    """Inclusive ranges of message numbers; whole turns, so that calls keep their results."""
    summary: str = ""
    """Stands in the context where the hidden messages stood."""
    replaced: dict[int, str] = {}
    """Tool result messages whose text the model now sees in this shorter form."""


class Collector(Protocol):
    name: str

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        """None when there is nothing to gain."""
        ...
