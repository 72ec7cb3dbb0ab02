"""Messages that wait for the turn that is running, in the order in which they will be said."""

import time
from collections.abc import Sequence
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

    async def send(self, parts: Sequence[UserPart], op_id: str) -> Sent:
        """Accepted and stored when this returns. Runs at once, or after the turn that is running."""
        session = self._session
        if session.can_start and not self.waiting:
            return await session.start(list(parts), op_id)
        queued = QueuedMessage(id=uuid4().hex[:12], parts=list(parts), created_at=time.time(), op_id=op_id)
        self.waiting.append(queued)
        try:
            await session.record(MessageQueued(queued=queued), op_id=op_id, queued=[queued])
        except BaseException:
            self.waiting.remove(queued)
            raise
        await self.start_next()
        return Sent(session=session.id, queued=queued.id)

    async def start_next(self) -> None:
        """The turn for the message that waits longest, if nothing is in its way."""
        if self.waiting and self._session.can_start:
            first = self.waiting.pop(0)
            await self._session.start(first.parts, first.op_id, unqueued=[first.id])
