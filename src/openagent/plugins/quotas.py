"""What people and teams may use, counted in the database: every daemon that works on it holds to the same figure."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class QuotaUse(Struct, frozen=True):
    tokens: int = 0
    """Used, or set aside for requests that have not ended."""
    money: int = 0
    """Likewise, in millionths of a millionth of a dollar."""
    open: int = 0
    """Requests that have not ended: what they do not need is given back."""


class Quota(Struct, frozen=True):
    """One cap in one period."""

    holder: str
    """`person:ID` or `team:ID`."""
    name: str
    """For people."""
    period: str
    """The day or the minute."""
    tokens: int | None = None
    money: int | None = None


class QuotaStore(Protocol):
    async def quotas(self, person: str, team: str, folder: str, now: float) -> list[Quota]:
        """Those of a day that hold for this person's work there: their own, and those of the team that the session is
        shared with or whose folder it is in. None where nothing is limited."""
        ...

    async def sending(self, person: str, team: str, folder: str, now: float) -> list[Quota]:
        """How many turns the person may begin in this minute, and the team whose session or folder it is."""
        ...

    async def used(self, quotas: Sequence[Quota]) -> list[QuotaUse]:
        """Of each."""
        ...

    async def take(self, quotas: Sequence[Quota], tokens: int, money: int) -> bool:
        """Set it aside of all of them, or of none and tell False: whoever else takes at the same time, no cap is
        passed."""
        ...

    async def give_back(self, quotas: Sequence[Quota], tokens: int, money: int) -> None:
        """What was taken and not used; the request has ended."""
        ...
