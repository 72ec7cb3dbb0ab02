"""The turns that run at once, and the line of those that wait for a place among them.

A session and all that work for it have one place together: one that waits for its own sub-agents takes nothing from
them. The line is fair to owners: each has one turn in every round, however many they have sent. A person or a team may
have a limit of their own: whoever is behind goes past those who wait for it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.plugins.admission import Load, TurnLimit
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TurnWaiting
from openagent.protocol.sessions import SessionInfo

TOLD_EVERY_S = 0.2
"""A line of hundreds that moves with every turn is told no more often."""
_LONGEST_RETRY_S = 300.0
_FIRST_GUESS_S = 10.0
"""How long turns take, before the first has ended."""


@dataclass
class _Waiting:
    session: str
    tree: str
    owner: str
    go: Callable[[], None]
    round: int
    """In which all owners have one turn each."""
    since: float
    told: int = 0
    """The place that people know of."""


@dataclass
class _Place:
    since: float
    sessions: set[str]
    holders: frozenset[str] = frozenset()
    """The person and the teams it counts for."""


class Bounds(NamedTuple):
    at_once: int | None = None
    """How many turns may run; None: as many as come."""
    longest: int | None = None
    """How many may wait, likewise."""
    elsewhere: int | None = None
    """How many come at most where something before this line holds the others back: for those who want to know."""


Limits = Callable[[SessionInfo], Awaitable[Sequence[TurnLimit]]]
_REMEMBERED = 10_000


async def _no_limits(info: SessionInfo) -> Sequence[TurnLimit]:
    return ()


class TurnLine:
    def __init__(self, loaded: LoadedSessions, bounds: Callable[[], Bounds], limits: Limits = _no_limits) -> None:
        """`bounds` is asked every time, `limits` with every message of a person or a team."""
        self._ask_limits = limits
        self._limits: dict[str, Sequence[TurnLimit]] = {}
        """By session."""
        self._loaded = loaded
        self._ask_bounds = bounds
        self._known_bounds = Bounds()
        self._places: dict[str, _Place] = {}
        """By the session that everybody in a tree works for."""
        self._inside: dict[str, str] = {}
        """Sessions with a turn, or about to have one, to their trees."""
        self._line: dict[str, _Waiting] = {}
        self._rounds: Counter[str] = Counter()
        """The last one that an owner has a turn in."""
        self._round = 0
        """That of the newest turn."""
        self._usual_s = _FIRST_GUESS_S
        self._telling: asyncio.TimerHandle | None = None

    @property
    def _bounds(self) -> Bounds:
        with suppress(OpenAgentError):  # settings that cannot be read are told where a turn needs them
            self._known_bounds = self._ask_bounds()
        return self._known_bounds

    async def look_up(self, info: SessionInfo) -> None:
        if not info.owner and not info.team:  # nobody's but whose machine it is
            return
        limits = await self._ask_limits(info)
        if len(self._limits) >= _REMEMBERED:
            self._limits.clear()
        self._limits[info.id] = limits

    def enter(self, info: SessionInfo, owner: str, go: Callable[[], None]) -> bool:
        if info.id in self._inside:
            return True
        tree = self._tree(info)
        waiting = self._line.get(info.id)
        if waiting is None:
            waiting = _Waiting(info.id, tree, owner, go, self._next_round(owner), time.monotonic())
            self._line[info.id] = waiting
        if tree in self._places:
            self._go_in(waiting)
            return True
        self._advance(asking=info.id)
        if info.id in self._inside:
            return True
        self._tell_soon()
        return False

    def leave(self, session: str) -> None:
        if (waiting := self._line.pop(session, None)) is not None:
            self._close_up(waiting)
        tree = self._inside.pop(session, None)
        if tree is not None:
            place = self._places[tree]
            place.sessions.discard(session)
            if not place.sessions:
                del self._places[tree]
                self._usual_s += (time.monotonic() - place.since - self._usual_s) / 8
        if tree is not None or waiting is not None:
            self._advance()
            self._tell_soon()
        if not self._line and not self._places:
            self._rounds.clear()

    def place(self, session: str) -> int:
        if session not in self._line:
            return 0
        return next(place for place, each in enumerate(self._in_order(), 1) if each.session == session)

    def check(self, info: SessionInfo, owner: str) -> None:
        longest = self._bounds.longest
        if longest is None:
            return
        if info.queued >= longest:
            raise self._refusal(f"{_wait(info.queued, 'message')} in this session already", info.queued)
        if info.id in self._line or info.id in self._inside or len(self._line) < longest:
            return
        waiting = Counter(each.owner for each in self._line.values())
        if waiting[owner] >= max(longest // len({*waiting, owner}), 1):  # of a full line, each owner has a share
            raise self._refusal(
                f"{_wait(len(self._line), 'turn')} already", len(self._line) / (self._bounds.at_once or 1)
            )

    def _refusal(self, why: str, turns: float) -> OpenAgentError:
        return OpenAgentError(
            "overloaded",
            f"{why}, so this message was not taken.",
            hint="Send it again later, or raise `waiting` under [turns].",
            retry_after=round(min(max(self._usual_s * turns, 1.0), _LONGEST_RETRY_S)),
        )

    def load(self) -> Load:
        now = time.monotonic()
        return Load(
            running=len(self._places),
            waiting=len(self._line),
            at_once=self._bounds.at_once or self._bounds.elsewhere,
            oldest_s=max((now - each.since for each in self._line.values()), default=0.0),
        )

    def _tree(self, info: SessionInfo) -> str:
        elders = self._loaded.elders(info)
        return elders[-1].id if elders else info.id

    def _next_round(self, owner: str) -> int:
        self._rounds[owner] = max(self._rounds[owner], self._round) + 1
        return self._rounds[owner]

    def _in_order(self) -> list[_Waiting]:
        return sorted(self._line.values(), key=lambda each: (each.round, each.since))

    def _advance(self, asking: str = "") -> None:
        """Places that are free go to those who are next. Whoever is asking hears it from the answer."""
        at_once = self._bounds.at_once
        for each in self._in_order():
            is_full = at_once is not None and len(self._places) >= at_once
            if each.tree not in self._places and (is_full or self.limit(each.session)):
                continue  # one further behind may work for somebody who has a place, or be somebody else's
            self._go_in(each)
            if each.session != asking:
                each.go()

    def limit(self, session: str) -> str:
        for limit in self._limits.get(session, ()):
            running = sum(limit.holder in place.holders for place in self._places.values())
            if limit.most is not None and running >= limit.most:
                return f"{limit.name} may have {_turns(limit.most)} at once"
        return ""

    def _go_in(self, waiting: _Waiting) -> None:
        self._line.pop(waiting.session, None)
        self._inside[waiting.session] = waiting.tree
        place = self._places.get(waiting.tree)
        if place is None:
            self._round = max(self._round, waiting.round)
            holders = frozenset(limit.holder for limit in self._limits.get(waiting.session, ()))
            place = self._places[waiting.tree] = _Place(time.monotonic(), set(), holders)
        else:
            self._close_up(waiting)  # it takes no turn of its owner's
        place.sessions.add(waiting.session)

    def _close_up(self, gone: _Waiting) -> None:
        """The owner's others move up by the turn that was not taken."""
        self._rounds[gone.owner] -= 1
        for each in self._line.values():
            if each.owner == gone.owner and each.round > gone.round:
                each.round -= 1

    def _tell_soon(self) -> None:
        if self._telling is None and self._line:
            self._telling = asyncio.get_running_loop().call_later(TOLD_EVERY_S, self._tell)

    def _tell(self) -> None:
        self._telling = None
        most, length = self._bounds.at_once or 0, len(self._line)
        for place, each in enumerate(self._in_order(), 1):
            if each.told != place and (session := self._loaded.find(each.session)):
                each.told = place
                limit = self.limit(each.session)
                session.show(TurnWaiting(place=place, waiting=length, at_once=most, limit=limit))


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"


def _wait(number: int, what: str) -> str:
    return f"1 {what} waits" if number == 1 else f"{number} {what}s wait"
