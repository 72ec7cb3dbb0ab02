"""Tasks through the daemon: `tasks.*` and `task.*`."""

import os
from pathlib import Path

from openagent.core.audit import NOBODY, actor
from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.places import lies_in
from openagent.plugins.tasks import TaskStore
from openagent.protocol.events import TaskUpdated
from openagent.protocol.op import Done
from openagent.protocol.tasks import (
    TaskCreate,
    TaskDelete,
    TaskGet,
    TaskHistory,
    TaskInfo,
    TaskList,
    TaskLog,
    TaskLogEntry,
    TaskNote,
    TasksList,
    TasksSync,
    TasksSynced,
    TaskUpdate,
)
from openagent.tasks.board import TaskBoard
from openagent.tasks.sync import TaskFile

DELETED = "deleted"


class TaskService:
    def __init__(self, store: TaskStore, bus: EventBus, agreed: Path) -> None:
        self._bus = bus
        self.board = TaskBoard(
            store, lambda task: self._tell(task, task.state), lambda task: self._tell(task, DELETED), _who
        )
        self.file = TaskFile(self.board, agreed)

    def handlers(self) -> list[Handler]:
        return [
            TasksList.handled_by(self._list),
            TaskGet.handled_by(self._get),
            TaskCreate.handled_by(self._create),
            TaskUpdate.handled_by(self._update),
            TaskDelete.handled_by(self._delete),
            TaskHistory.handled_by(self._log),
            TaskNote.handled_by(self._note),
            TasksSync.handled_by(self._sync),
        ]

    def _tell(self, task: TaskInfo, state: str) -> None:
        self._bus.publish(
            TaskUpdated(at=task.updated_at, task=task.id, title=task.title, state=state, owner=task.owner, cwd=task.cwd)
        )

    async def _list(self, connection: Connection, op: TasksList) -> TaskList:
        tasks = await self.board.all(cwd=op.cwd, state=op.state)
        within = await connection.within()
        return TaskList(
            tasks if within is None else [task for task in tasks if lies_in(_real(task.cwd), within.folders)]
        )

    async def _get(self, connection: Connection, op: TaskGet) -> TaskInfo:
        return await self.board.get(op.task)

    async def _create(self, connection: Connection, op: TaskCreate) -> TaskInfo:
        return await self.board.create(op)

    async def _update(self, connection: Connection, op: TaskUpdate) -> TaskInfo:
        return await self.board.update(op)

    async def _delete(self, connection: Connection, op: TaskDelete) -> Done:
        await self.board.delete(op.task)
        return Done()

    async def _log(self, connection: Connection, op: TaskHistory) -> TaskLog:
        return TaskLog(await self.board.log(op.task))

    async def _note(self, connection: Connection, op: TaskNote) -> TaskLogEntry:
        return await self.board.note(op.task, op.text)

    async def _sync(self, connection: Connection, op: TasksSync) -> TasksSynced:
        return await self.file.sync(op.cwd)


def _who() -> str:
    return "" if actor() == NOBODY else actor().name


def _real(cwd: str) -> str:
    return os.path.realpath(cwd) if cwd else ""
