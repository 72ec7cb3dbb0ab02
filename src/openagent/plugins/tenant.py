"""Whose rows a query is about. The one place that says when a session is somebody's: for what is in memory here, for
what is in a database in `store/tenancy.py`, which says the same."""

from msgspec import Struct

from openagent.plugins.places import lies_in
from openagent.protocol.sessions import SessionInfo


class Tenant(Struct, frozen=True):
    folders: tuple[str, ...]
    """The folders they work below."""
    person: str = ""
    """Of a person's sessions alone; empty: of whosoever are there."""
    teams: tuple[str, ...] = ()
    """Sessions that are shared with one of these are theirs, wherever they lie."""

    def holds(self, info: SessionInfo) -> bool:
        if info.team and info.team in self.teams:
            return True
        return lies_in(info.cwd, self.folders) and (not self.person or info.owner == self.person)
