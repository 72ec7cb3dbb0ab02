"""Sessions that other daemons have, as this one asks them. Something outside the daemon knows how to reach them."""

from typing import Protocol

from msgspec import Struct

from openagent.daemon.connection import Connection
from openagent.protocol.op import Op


class Elsewhere(Protocol):
    @property
    def running(self) -> int:
        """Turns that run in the others, as they told last."""
        ...

    async def answer(self, connection: Connection, op: Op) -> bool:
        """False: it is for this daemon. True: another has answered, and what it said was passed on as it came."""
        ...

    async def perform(self, connection: Connection, op: Op) -> Struct | None:
        """None: it is for this daemon. Otherwise what another one answered; what it refused is raised."""
        ...

    def left(self, connection: Connection) -> None:
        """The client has gone."""
        ...

    def dismissed(self, caller: str) -> None:
        """Who is connected to other daemons on this token's strength, or as this person, hears no more either."""
        ...
