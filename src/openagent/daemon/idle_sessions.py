"""Sessions between two turns keep their shell and their place, and what they said goes back to the store.

The last few that had a turn stay as they are: they are the ones that are spoken to next.
"""

from collections import OrderedDict

from openagent.daemon.bus import EventBus
from openagent.daemon.manager import SessionManager
from openagent.protocol.events import TurnCompleted

AWAKE = 8


class IdleSessions:
    def __init__(self, manager: SessionManager, bus: EventBus) -> None:
        self._manager = manager
        self._bus = bus
        self._awake: OrderedDict[str, None] = OrderedDict()
        bus.subscribe(TurnCompleted, self._ended)

    def _ended(self, event: TurnCompleted) -> None:
        self._awake[event.session] = None
        self._awake.move_to_end(event.session)
        if len(self._awake) > AWAKE:
            name, _ = self._awake.popitem(last=False)
            session = self._manager.loaded(name)
            if session is not None and not session.busy and not self._bus.attached(name):
                session.rest()
