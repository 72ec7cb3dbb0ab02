"""What a model no longer sees, found again."""

from typing import Protocol

from msgspec import Struct


class Recalled(Struct, frozen=True):
    message: int
    turn: int
    about: str
    """`user`, `assistant`, or `result of NAME`."""
    excerpt: str


class Memory(Protocol):
    async def search(self, session: str, query: str, limit: int) -> list[Recalled]:
        """Best first. Only what was collected: neither what the model sees nor what was taken back."""
        ...

    async def read(self, session: str, message: int) -> str:
        """Raises OpenAgentError('not_found') when there is no such message among what was collected."""
        ...
