"""The sessions in memory.

Made before the session manager, which fills it: jails, gates and the ledger, from which the manager is made, find in it
the sessions they work for. It is empty until the first session is loaded, and nobody asks before that.
"""

from pathlib import Path

from openagent.core.session import Session
from openagent.protocol.events import Event
from openagent.protocol.sessions import SessionInfo


class LoadedSessions:
    def __init__(self) -> None:
        self.by_id: dict[str, Session] = {}
        """The least recently used first. The roster alone changes it."""

    @property
    def all(self) -> list[Session]:
        return list(self.by_id.values())

    def find(self, session: str) -> Session | None:
        return self.by_id.get(session)

    def elders(self, info: SessionInfo) -> list[Session]:
        """The session that this one works for, the one that that one works for, and so on."""
        found: list[Session] = []
        while info.parent and (above := self.find(info.parent)):
            found.append(above)
            info = above.info
        return found

    def working_in(self, workspace: Path) -> list[Session]:
        return [session for session in self.by_id.values() if session.workspace == workspace]

    def tell(self, session: str, event: Event) -> None:
        """To those who follow it; nobody does where it is not loaded."""
        if loaded := self.find(session):
            loaded.post(event)
