"""Whether a turn may begin now, or waits for others to end. Who runs turns elsewhere brings an implementation along."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from openagent.protocol.sessions import SessionInfo


class Load(Struct, frozen=True, kw_only=True):
    """How much there is to do, for people and for what adds machines."""

    running: int = 0
    """Places that are taken."""
    waiting: int = 0
    """Sessions that stand in line."""
    at_once: int | None = None
    """How many may run; None: as many as come."""
    oldest_s: float = 0.0
    """Seconds for which the one that came first has waited."""


class Backlog(Struct, frozen=True):
    """Of a whole team."""

    running: int
    waiting: int
    """Sessions whose next turn waits for a worker."""
    oldest_s: float
    """Seconds for which the first of them has waited."""


class TurnLimit(Struct, frozen=True):
    """How many turns of a person or a team run at once."""

    holder: str
    """`person:ID` or `team:ID`."""
    name: str
    """For people."""
    most: int | None = None
    """None: as many as come."""


class Admission(Protocol):
    async def look_up(self, info: SessionInfo) -> None:
        """Before `check` and `enter`: what holds for this session by now."""
        ...

    def enter(self, info: SessionInfo, owner: str, go: Callable[[], None]) -> bool:
        """Whether a turn of this session may begin now. If not, it stands in line for its owner, and `go` is called
        when its turn has come: it has a place then, which it takes by asking again, or leaves."""
        ...

    def leave(self, session: str) -> None:
        """Its turn has ended, or it does not want one any more."""
        ...

    def place(self, session: str) -> int:
        """1 is next; 0: it does not wait here."""
        ...

    def limit(self, session: str) -> str:
        """Whose limit it waits for, in words; empty: none, but for a place among all."""
        ...

    def check(self, info: SessionInfo, owner: str) -> None:
        """Raises OpenAgentError('overloaded') where too many wait for one more to join them."""
        ...

    def load(self) -> Load: ...


class Unbounded:
    """Every turn begins at once."""

    async def look_up(self, info: SessionInfo) -> None:
        pass

    def enter(self, info: SessionInfo, owner: str, go: Callable[[], None]) -> bool:
        return True

    def leave(self, session: str) -> None:
        pass

    def place(self, session: str) -> int:
        return 0

    def limit(self, session: str) -> str:
        return ""

    def check(self, info: SessionInfo, owner: str) -> None:
        pass

    def load(self) -> Load:
        return Load()
