"""What is kept of the tokens, and of requests that may come twice."""

from typing import Protocol

from msgspec import Struct

from openagent.protocol.tokens import TokenInfo


class StoredToken(Struct, frozen=True):
    info: TokenInfo
    digest: bytes
    """Of the secret, which itself is not kept."""


class Replay(Struct, frozen=True):
    """A request that was answered, and what was answered."""

    caller: str
    key: str
    fingerprint: bytes
    """Of method, address and body: the same key with another request is a mistake."""
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    at: float


class AccessStore(Protocol):
    async def tokens(self) -> list[StoredToken]:
        """Oldest first."""
        ...

    async def token(self, token: str) -> StoredToken | None: ...

    async def add_token(self, token: StoredToken) -> None: ...

    async def remove_token(self, token: str) -> None: ...

    async def token_used(self, token: str, at: float) -> None: ...

    async def replay(self, caller: str, key: str) -> Replay | None: ...

    async def keep_replay(self, replay: Replay, *, forget_before: float) -> None:
        """And forget those that are older than that."""
        ...
