"""Messages that wait for a turn, shown and changed by people: `queue.*`"""

from openagent.core.session import Session
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler, message_parts
from openagent.daemon.manager import SessionManager
from openagent.protocol.queue import Queue, QueueEdit, QueueMove, QueueRemove, QueueResume, QueueShow


class QueueService:
    def __init__(self, manager: SessionManager) -> None:
        self._manager = manager

    def handlers(self) -> list[Handler]:
        return [
            QueueShow.handled_by(self._show),
            QueueEdit.handled_by(self._edit),
            QueueRemove.handled_by(self._remove),
            QueueMove.handled_by(self._move),
            QueueResume.handled_by(self._resume),
        ]

    async def _show(self, connection: Connection, op: QueueShow) -> Queue:
        return _queue(await self._manager.get(op.session))

    async def _edit(self, connection: Connection, op: QueueEdit) -> Queue:
        parts = message_parts(op.text, op.parts)
        session = await self._manager.get(op.session)
        await session.inbox.edit(op.queued, parts, op.id)
        return _queue(session)

    async def _remove(self, connection: Connection, op: QueueRemove) -> Queue:
        session = await self._manager.get(op.session)
        await session.inbox.remove(op.queued, op.id)
        return _queue(session)

    async def _move(self, connection: Connection, op: QueueMove) -> Queue:
        session = await self._manager.get(op.session)
        await session.inbox.move(op.queued, op.position, op.id)
        return _queue(session)

    async def _resume(self, connection: Connection, op: QueueResume) -> Queue:
        session = await self._manager.get(op.session)
        await session.inbox.go_on(op.id)
        return _queue(session)


def _queue(session: Session) -> Queue:
    return Queue(list(session.inbox.waiting), session.inbox.held)
