"""Messages that wait for the turn that is running, in the order in which they will be said."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from openagent.protocol.events import MessageQueued
from openagent.protocol.messages import UserPart
from openagent.protocol.ops import Sent
from openagent.protocol.sessions import QueuedMessage

if TYPE_CHECKING:
    from openagent.core.session import Session


class Inbox:
    def __init__(self, session: "Session", waiting: Sequence[QueuedMessage]) -> None:
        self._session = session
        self.waiting = list(waiting)
        self._envs: dict[str, Mapping[str, str]] = {}
        """Of those who sent them, by a message's id: never stored, since there are keys in it."""

    async def send(self, parts: Sequence[UserPart], op_id: str, env: Mapping[str, str] | None = None) -> Sent:
        """Accepted and stored when this returns. Runs at once, or after the turn that is running; in either case in
        the sender's environment."""
        session = self._session
        if session.can_start and not self.waiting:
            return await session.start(list(parts), op_id, env=env)
        queued = QueuedMessage(id=uuid4().hex[:12], parts=list(parts), created_at=time.time(), op_id=op_id)
        self.waiting.append(queued)
        try:
            await session.record(MessageQueued(queued=queued), op_id=op_id, queued=[queued])
        except BaseException:
            self.waiting.remove(queued)
            raise
        if env:
            self._envs[queued.id] = env
        await self.start_next()
        return Sent(session=session.id, queued=queued.id)

    async def start_next(self) -> None:
        """The turn for the message that waits longest, if nothing is in its way."""
        if self.waiting and self._session.can_start:
            first = self.waiting.pop(0)
            env = self._envs.pop(first.id, None)
            await self._session.start(first.parts, first.op_id, unqueued=[first.id], env=env)
