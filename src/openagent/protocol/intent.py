"""What a message is for."""

from typing import Literal

from msgspec import Struct


class Intent(Struct, frozen=True, omit_defaults=True):
    type: Literal["research", "organize", "control"]
    """To learn something, to put ideas in order, to have something done."""
    confidence: float
    action: str = ""
    """search, clarify, answer or execute."""
    entities: list[str] = []
    query: str = ""
    """The words to search with."""
