"""A strategy that shrinks a context that has grown too large. Pure: it proposes, the session records."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from openagent.protocol.messages import Message
from openagent.protocol.sessions import PlanItem

Summarize = Callable[[Sequence[Message], str], Awaitable[str]]
"""Messages and an instruction to a summary, by the session's own model, counted against its budget."""


class ContextItem(Struct, frozen=True):
    """A message the model sees, and what it costs."""

    message: Message
    tokens: int
    pinned: bool = False
    """It may neither go nor be shortened."""


class CollectGoal(Struct, frozen=True):
    free_tokens: int
    """At least this much should go."""
    keep_turns: int
    """The newest turns are not touched, unless nothing else is left."""
    window: int = 128_000
    """Of the model that will be shown the rest, and that writes summaries."""
    summary: str = ""
    """What stands for what went before. A new summary takes its place, so it has to hold that too."""
    plan: Sequence[PlanItem] = ()


class ContextSettings(Struct, frozen=True):
    """When a context is collected, and how far."""

    collector: str = "truncate"
    threshold: float = 80.0
    """Percent of the model's window."""
    goal: float = 40.0
    """Percent of the window that may be left after a collection."""
    keep_turns: int = 5
    turn_limit: int = 0
    """Collect when more turns than this are shown; 0: as many as fit."""
    auto: bool = True


class Collection(Struct, frozen=True):
    """What a collector proposes. Hidden messages stay in the store."""

    hidden: list[tuple[int, int]] = []
    """Inclusive ranges of message numbers. An answer only goes with the results of its calls: what a collector
    proposes beyond whole units (see `plugins.context.units`), or of what is pinned, is not done."""
    summary: str = ""
    """Stands in the context where the hidden messages stood. Empty: the one that stands there already stays."""
    replaced: dict[int, str] = {}
    """Tool results, and messages with images, that the model now sees in this shorter form."""
    note: str = ""
    """What did not go as meant, for people."""


class Collector(Protocol):
    name: str

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        """None when there is nothing to gain."""
        ...
