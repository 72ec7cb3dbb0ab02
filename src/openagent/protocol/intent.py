"""What a message is for."""

from typing import Literal

from msgspec import Struct


class Intent(Struct, frozen=True, omit_defaults=True):
    """What a message seems to want."""

    type: Literal["research", "organize", "control"]
    """To learn something, to put ideas in order, to have something done."""
    confidence: float
    """How sure that is, from 0 to 1."""
    action: str = ""
    """search, clarify, answer or execute."""
    entities: list[str] = []
    """What the message names: files, symbols and the like."""
    query: str = ""
    """The words to search with."""
