"""How far a caller reaches, as the daemon asks it. Something outside the daemon knows."""

from pathlib import Path
from typing import Protocol

from openagent.daemon.callers import Caller
from openagent.plugins.tenant import Tenant
from openagent.protocol.events import Event
from openagent.protocol.op import Op
from openagent.protocol.sessions import Mode


class Hearing(Protocol):
    """Which part of what happens in the whole daemon one who follows it is told."""

    def of_session(self, session: str) -> bool: ...

    def of(self, event: Event) -> bool: ...


class Reach(Protocol):
    async def check(self, caller: Caller, op: Op) -> None:
        """Raises when the op names something beyond the caller's folders, or beyond what they may free agents to do."""
        ...

    async def within(self, caller: Caller) -> Tenant | None:
        """Whose sessions they are told of; None: everybody's."""
        ...

    async def is_welcome(self, caller: Caller) -> bool:
        """Whether they would still be let in as they were."""
        ...

    async def hears_still(self, caller: Caller, session: str) -> bool:
        """Whether one who was let into this session still would be."""
        ...

    def most(self, caller: Caller, workspace: Path) -> Mode:
        """The widest mode that a session which this caller makes may have."""
        ...

    def hearing(self, caller: Caller) -> Hearing | None:
        """None: they hear everything."""
        ...
