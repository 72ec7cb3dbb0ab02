"""Who hears what. An event is encoded once; its bytes go to every client that is attached."""

from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from openagent.daemon.reach_interface import Hearing
from openagent.protocol.codec import encode_event
from openagent.protocol.events import (
    Event,
    HistoryImported,
    LoginRequired,
    McpServerStatus,
    Metrics,
    PermissionRequested,
    PermissionResolved,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
    StatusChanged,
    TaskUpdated,
    TurnCompleted,
    TurnStarted,
    UsageUpdated,
)

OVERVIEW = (
    SessionCreated,
    SessionUpdated,
    SessionDeleted,
    StatusChanged,
    TurnStarted,
    TurnCompleted,
    UsageUpdated,
    PermissionRequested,
    PermissionResolved,
    QuestionAsked,
    QuestionAnswered,
    McpServerStatus,
    TaskUpdated,
    QueueChanged,
    LoginRequired,
    HistoryImported,
    Metrics,
)
"""What a client that follows the whole daemon hears of every session."""


class Outlet(Protocol):
    """A client's end of the line. `send` never waits; an outlet that cannot keep up closes itself."""

    name: str
    interactive: bool

    def send(self, body: bytes) -> None: ...


class Attendant(Outlet, Protocol):
    """One that follows a session."""

    def flush(self) -> None:
        """All there is to say in this moment was said, and need not wait for company."""
        ...

    def hear(self, event: Event, body: bytes) -> None:
        """`send`, for one who may be spared a part of what is only shown live."""
        ...


E = TypeVar("E", bound=Event)


Watcher = Callable[[Event], None]
"""Something inside the daemon that hears of one session, before any client does."""


class EventBus:
    def __init__(self) -> None:
        self._subscribers: dict[type[Event], list[Callable[[Event], None]]] = {}
        self._attached: dict[str, set[Attendant]] = {}
        self._followers: dict[Outlet, Hearing | None] = {}
        self._watchers: dict[str, list[Watcher]] = {}

    def attach(self, session: str, outlet: Attendant) -> None:
        self._attached.setdefault(session, set()).add(outlet)

    def detach(self, session: str, outlet: Attendant) -> None:
        if outlets := self._attached.get(session):
            outlets.discard(outlet)
            if not outlets:
                del self._attached[session]

    def watch(self, session: str, watcher: Watcher) -> None:
        self._watchers.setdefault(session, []).append(watcher)

    def unwatch(self, session: str, watcher: Watcher) -> None:
        watching = self._watchers.get(session, [])
        if watcher in watching:
            watching.remove(watcher)
        if not watching:
            self._watchers.pop(session, None)

    def watched(self, session: str) -> bool:
        return session in self._watchers

    def follow(self, outlet: Outlet, hearing: Hearing | None = None) -> None:
        """`hearing` tells what of it they are told; None: all."""
        self._followers[outlet] = hearing

    def unfollow(self, outlet: Outlet) -> None:
        self._followers.pop(outlet, None)

    @property
    def is_followed(self) -> bool:
        return bool(self._followers)

    def leave(self, outlet: Attendant) -> None:
        self.unfollow(outlet)
        for session in list(self._attached):
            self.detach(session, outlet)

    def outlets(self, session: str) -> Collection[Attendant]:
        return self._attached.get(session, ())

    def sessions_of(self, outlet: Attendant) -> list[str]:
        return [session for session, outlets in self._attached.items() if outlet in outlets]

    def attached(self, session: str) -> int:
        return len(self._attached.get(session, ()))

    def someone_can_answer(self, session: str) -> bool:
        if any(outlet.interactive for outlet in self._attached.get(session, ())):
            return True
        return any(
            outlet.interactive and (hearing is None or hearing.of_session(session))
            for outlet, hearing in self._followers.items()
        )

    def subscribe(self, kind: type[E], hear: Callable[[E], None]) -> None:
        """For parts of the daemon itself. `hear` must neither wait nor raise."""
        self._subscribers.setdefault(kind, []).append(hear)  # pyright: ignore[reportArgumentType] -- called with that kind alone

    def publish(self, event: Event) -> None:
        """To clients first: what the daemon's own parts do about it comes after it."""
        self._send(event)
        for watcher in list(self._watchers.get(event.session, ())):
            watcher(event)
        for hear in self._subscribers.get(type(event), ()):
            hear(event)

    def flush(self, session: str) -> None:
        """What was published of it leaves in this turn of the event loop, not in the next one: with many sessions at
        work, one takes milliseconds."""
        for outlet in list(self._attached.get(session, ())):
            outlet.flush()

    def _send(self, event: Event) -> None:
        outlets = self._attached.get(event.session)
        followed = self._followers and isinstance(event, OVERVIEW)
        if not outlets and not followed:
            return
        body = encode_event(event)
        for outlet in list(outlets or ()):
            outlet.hear(event, body)
        if followed:
            for outlet, hearing in list(self._followers.items()):
                if outlet not in (outlets or ()) and (hearing is None or hearing.of(event)):
                    outlet.send(body)
