"""Who may come in over HTTP, and which answers are given again. Something outside the gateways keeps both."""

import time
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from openagent.daemon.callers import Caller


class LoggedIn(Struct, frozen=True):
    caller: Caller
    secret: str
    """For the browser's cookie."""
    expires_at: float

    @property
    def expires_in(self) -> float:
        return max(self.expires_at - time.time(), 0.0)

    def __repr__(self) -> str:
        return f"LoggedIn(caller={self.caller!r})"


class Started(Struct, frozen=True):
    """A login that a person goes away for."""

    url: str
    """Where they go."""
    state: str
    """What their browser keeps to prove that it was the one."""


class SignedIn(Struct, frozen=True):
    logged_in: LoggedIn
    after: str
    """The page to show now."""


class Invitation(Struct, frozen=True):
    """Somebody is asked to choose a password."""

    email: str
    """Theirs."""
    expires_at: float
    """Until when they may, in seconds since 1970."""


class Joined(Struct, frozen=True):
    """Somebody has chosen a password."""

    logged_in: LoggedIn
    is_new: bool
    """They had none before."""


class DeviceCode(NamedTuple):
    """What a terminal shows, and asks with."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: float
    interval: float


class Waiting(Struct, frozen=True):
    """A terminal that asks to be let in."""

    client: str


NotYet = Literal["authorization_pending", "slow_down", "access_denied", "expired_token"]
DeviceAnswer = LoggedIn | NotYet


class SigningIn(Protocol):
    """People who log in."""

    def offered(self) -> str:
        """Whom with; empty: with nobody, though they may be known already."""
        ...

    async def start(self, origin: str, after: str) -> Started: ...

    async def finish(self, state: str, given: dict[str, str]) -> SignedIn:
        """`state` is what this browser kept. Raises when it is not to be believed."""
        ...

    async def has_passwords(self) -> bool:
        """Somebody logs in with one."""
        ...

    async def by_password(self, email: str, password: str, after: str) -> SignedIn | None:
        """None, and no sooner: they are not the address and password of anybody who is let in."""
        ...

    async def invited(self, secret: str) -> Invitation | None:
        """Whose invitation it is; None: there is none, or no longer."""
        ...

    async def join(self, secret: str, password: str) -> Joined | None:
        """None as above. Raises when the password is too short."""
        ...

    async def change_password(self, caller: Caller, old: str, new: str) -> bool:
        """False: it is not the old one. Every other login of the person ends."""
        ...

    async def device(self, origin: str, client: str) -> DeviceCode: ...

    async def poll(self, code: str) -> DeviceAnswer: ...

    async def waiting(self, caller: Caller, user_code: str) -> Waiting: ...

    async def decide(self, caller: Caller, user_code: str, allow: bool) -> None: ...


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

    async def signing_in(self) -> SigningIn | None:
        """None: nobody logs in here."""
        ...

    async def answered(self, caller: str, key: str) -> Answer | None:
        """What was answered to the request with this idempotency key."""
        ...

    async def keep_answer(self, caller: str, key: str, answer: Answer) -> None: ...
