"""Who is connected over HTTP, and who has to leave when there are too many.

Whoever has not shown a token yet is a stranger, and costs a descriptor all the same. So strangers are few, the oldest
make room for new ones, and a good part of all descriptors is never the web's: the owner gets in, over HTTP and over the
unix socket, whatever others do.
"""

import logging
import resource
import time
from collections import Counter
from typing import Protocol

from openagent.daemon.callers import OWNER

Peer = tuple[str, int]
"""Address and port of the other end."""
_MOST = 4096
_FEWEST = 64
_TELL_EVERY = 60.0
_log = logging.getLogger(__name__)


class Connected(Protocol):
    def abort(self) -> None: ...


class _Guest:
    def __init__(self, line: Connected) -> None:
        self.line = line
        self.caller = ""
        """Empty: a stranger."""


class Crowd:
    def __init__(self, most: int) -> None:
        """So many connections at once, of which a quarter may be strangers', an eighth strangers' from one address,
        and a half one token's."""
        self._most = most
        self._most_strangers = max(most // 4, 8)
        self._most_of_an_address = max(most // 8, 4)
        self._most_of_a_caller = max(most // 2, 8)
        self._guests: dict[Peer, _Guest] = {}
        """The oldest first."""
        self._told = 0.0

    def enter(self, peer: Peer, line: Connected) -> None:
        self._guests.pop(peer, None)
        self._guests[peer] = _Guest(line)
        strangers = [each for each, guest in self._guests.items() if not guest.caller]
        of_address = [each for each in strangers if each[0] == peer[0]]
        if len(of_address) > self._most_of_an_address:
            self._send_away(of_address[0])
        elif len(strangers) > self._most_strangers:
            crowded = Counter(each[0] for each in strangers).most_common(1)[0][0]
            self._send_away(next(each for each in strangers if each[0] == crowded))
        elif len(self._guests) > self._most:
            self._make_room(peer)

    def known(self, peer: Peer, caller: str) -> None:
        """A token was shown on this connection."""
        guest = self._guests.get(peer)
        if guest is None or guest.caller == caller:
            return
        guest.caller = caller
        of_caller = [each for each, other in self._guests.items() if other.caller == caller]
        if caller != OWNER.id and len(of_caller) > self._most_of_a_caller:
            self._send_away(of_caller[0])

    def leave(self, peer: Peer) -> None:
        self._guests.pop(peer, None)

    def _make_room(self, newcomer: Peer) -> None:
        """Strangers go first, then others' tokens; the owner stays."""
        others = [each for each in self._guests if each != newcomer]
        strangers = [each for each in others if not self._guests[each].caller]
        tokens = [each for each in others if self._guests[each].caller != OWNER.id]
        self._send_away((strangers or tokens or [newcomer])[0])

    def _send_away(self, peer: Peer) -> None:
        self._guests.pop(peer).line.abort()
        if time.monotonic() - self._told > _TELL_EVERY:
            self._told = time.monotonic()
            _log.warning("too many connections, the oldest are closed", extra={"address": peer[0]})


def room_for_the_web() -> int:
    """Half of the descriptors there are. The rest is for the unix socket, the store, and what agents run."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if allowed == resource.RLIM_INFINITY else max(min(allowed // 2, _MOST), _FEWEST)
