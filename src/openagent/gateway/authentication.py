"""Who may come in over HTTP, and which answers are given again. Something outside the gateways keeps both."""

from typing import Protocol

from msgspec import Struct

from openagent.daemon.callers import Caller


class LoggedIn(Struct, frozen=True):
    caller: Caller
    secret: str
    """For the browser's cookie."""
    expires_at: float

    def __repr__(self) -> str:
        return f"LoggedIn(caller={self.caller!r})"


class Answer(Struct, frozen=True):
    fingerprint: bytes
    """Of the request it answered."""
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Gate(Protocol):
    async def authenticate(self, secret: str) -> Caller | None: ...

    async def log_in(self, code: str) -> LoggedIn | None:
        """None when the code is wrong, used or too old."""
        ...

    async def log_out(self, caller: Caller) -> None: ...

    async def answered(self, caller: str, key: str) -> Answer | None:
        """What was answered to the request with this idempotency key."""
        ...

    async def keep_answer(self, caller: str, key: str, answer: Answer) -> None: ...
