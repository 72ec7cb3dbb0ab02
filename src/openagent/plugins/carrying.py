"""What of a session lies on one machine, and goes with it to the next: what undo knows, and a clone's files."""

from pathlib import Path
from typing import Protocol

from openagent.protocol.sessions import SessionInfo


class Carrying(Protocol):
    async def clone(self, session: str, below: Path, repository: str, branch: str) -> Path:
        """A clone of a repository for one session, in a folder of its own. Raises OpenAgentError."""
        ...

    async def bring(self, info: SessionInfo) -> str:
        """Before a session works here: what another daemon kept of it is put in its place. Returns a sentence when
        something is not as it was. Raises OpenAgentError."""
        ...

    async def keep(self, info: SessionInfo, *, leaving: bool = False) -> None:
        """What another daemon will need. `leaving`: this one has done with it, and drops a clone that is kept."""
        ...

    async def forget(self, session: str) -> None: ...

    def is_clone(self, folder: Path) -> bool:
        """Whether it is a session's clone, or lies in one."""
        ...
