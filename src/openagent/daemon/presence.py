"""Who is with a session, told to all who are."""

from typing import TYPE_CHECKING

from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.protocol.events import SessionPresence

if TYPE_CHECKING:
    from openagent.daemon.manager import SessionManager


def who_is_with(bus: EventBus, session: str) -> list[str]:
    """By name. Where nobody logs in there is one person, and nothing to tell."""
    callers = [each.caller for each in bus.outlets(session) if isinstance(each, Connection)]
    return sorted({caller.name for caller in callers}) if any(caller.person for caller in callers) else []


class Presence:
    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._here: dict[str, list[str]] = {}
        """By session, where several are."""

    def look(self, manager: "SessionManager", session: str) -> None:
        """Somebody came or left."""
        here = who_is_with(self._bus, session)
        several = here if len(here) > 1 else []
        if several == self._here.get(session, []):
            return
        if several:
            self._here[session] = several
        else:
            del self._here[session]
        if (loaded := manager.loaded(session)) is not None:
            loaded.show(SessionPresence(who=", ".join(here) or "nobody"))
