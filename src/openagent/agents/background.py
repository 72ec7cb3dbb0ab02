"""Sub-agents that their caller does not wait for: whose they are, until it has heard how they ended."""

import asyncio
import logging
from collections.abc import Callable, Container, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from openagent.agents.report import Report, told
from openagent.core.session import Session
from openagent.daemon.late_binding import Late
from openagent.daemon.manager import SessionManager
from openagent.plugins.tool import ToolOutcome
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import TextPart

ENDING = 10.0
"""Seconds that whoever ends one waits for it."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Unawaited:
    name: str
    """What the caller's model knows it by."""
    turn: int
    """Of its caller, in which it was started."""
    work: "asyncio.Task[Report]"
    delivery: "asyncio.Task[None] | None" = None
    fetched: bool = False
    """The caller has asked for its answer, so no message brings it."""
    message: str = ""
    """The message with its answer, while that waits for the caller's turn to end."""


class BackgroundAgents:
    def __init__(
        self, sessions: Late[SessionManager], spawn: "Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]"
    ) -> None:
        self._sessions = sessions
        self._spawn = spawn
        self._of: dict[str, dict[str, Unawaited]] = {}
        """By caller and name. One that has been told of is forgotten."""

    def start(self, parent: Session, name: str, work: "asyncio.Task[Report]") -> None:
        one = Unawaited(name, parent.info.turn_count, work)
        self._of.setdefault(parent.id, {})[name] = one
        one.delivery = self._spawn(self._deliver(parent.id, one))

    def deliveries(self, session: str) -> "list[asyncio.Task[None]]":
        """Of those whose end the session has not heard of."""
        return [one.delivery for one in self._of.get(session, {}).values() if one.delivery and not one.message]

    def names(self, session: str) -> list[str]:
        return [name for name, one in self._of.get(session, {}).items() if not one.message]

    async def _deliver(self, parent: str, one: Unawaited) -> None:
        await asyncio.wait([one.work])
        if one.work.cancelled() or one.fetched:
            return self._forget(parent, one)
        heading = f"[The background sub-agent {one.name} has ended. What follows is its report, not a person's words.]"
        try:
            session = await self._sessions().get(parent)
            session.background.end(one.name)
            sent = await session.inbox.add([TextPart(f"{heading}\n\n{told([one.work.result()]).text}")])
            one.message = sent.queued
            self._forget_heard(session)
        except OpenAgentError as problem:
            _log.warning(
                "sub-agent report not delivered: its parent session is gone",
                extra={"agent": one.name, "reason": str(problem)},
            )
        if not one.message:
            self._forget(parent, one)
        return None

    async def result(
        self, session: str, name: str, *, wait: float, cancel: bool, doing: "Callable[[asyncio.Task[Report]], str]"
    ) -> ToolOutcome:
        """For the session that started it and nobody else."""
        one = self._of.get(session, {}).get(name)
        if one is None or one.message:
            known = ", ".join(self.names(session)) or "none"
            return ToolOutcome(
                f"No sub-agent {name!r} is at work in the background of this session; one that has reported is "
                f"forgotten. At work: {known}.",
                is_error=True,
            )
        if cancel:
            one.work.cancel()
        one.fetched = True
        if wait or cancel:
            await asyncio.wait([one.work], timeout=wait or ENDING)
        if not one.work.done():
            one.fetched = False
            return ToolOutcome(f"{name} is still at work.{doing(one.work)}")
        self._forget(session, one)
        self._end(session, one.name)
        if one.work.cancelled():
            return ToolOutcome(f"{name} was ended before it was done. Its edits stay in its copy: `openagent agents`.")
        return told([one.work.result()])

    async def stop_started_in(self, session: str, turns: Container[int]) -> list[str]:
        """Ends those that were started in these turns, which are being taken back, and gives their names. Nobody will
        hear of them; what they wrote stays in their copies."""
        if loaded := self._sessions().loaded(session):
            self._forget_heard(loaded)
        stopped: list[Unawaited] = []
        for one in list(self._of.get(session, {}).values()):
            if one.turn in turns:
                one.fetched = True
                one.work.cancel()
                stopped.append(one)
                self._forget(session, one)
                self._end(session, one.name)
        if stopped:
            await asyncio.wait([one.work for one in stopped], timeout=ENDING)
        for one in stopped:
            if one.message and loaded:
                with suppress(OpenAgentError):  # a person has removed it
                    await loaded.inbox.remove(one.message, "")
        return [one.name for one in stopped if one.work.cancelled() or one.message]

    def _forget_heard(self, session: Session) -> None:
        waiting = {each.id for each in session.inbox.waiting}
        for one in list(self._of.get(session.id, {}).values()):
            if one.message and one.message not in waiting:
                self._forget(session.id, one)

    def drop(self, session: str) -> None:
        """The session is gone: nobody is left to work for."""
        for one in self._of.pop(session, {}).values():
            one.fetched = True
            one.work.cancel()
            self._end(session, one.name)

    def _end(self, session: str, name: str) -> None:
        if loaded := self._sessions().loaded(session):
            loaded.background.end(name)

    def _forget(self, session: str, one: Unawaited) -> None:
        mine = self._of.get(session, {})
        mine.pop(one.name, None)
        if not mine:
            self._of.pop(session, None)
