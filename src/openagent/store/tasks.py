"""Queries over tasks."""

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection, delete, insert, select

from openagent.plugins.tasks import TaskStore
from openagent.protocol.tasks import TaskInfo
from openagent.store.sql_store import SqlStore
from openagent.store.tables import tasks as table

_WRITER = "tasks"


class SqlTasks:
    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def tasks(self) -> list[TaskInfo]:
        return await self._store.read(_every)

    async def put_task(self, task: TaskInfo) -> None:
        await self._store.write(_WRITER, _put, task)

    async def remove_task(self, task: str) -> bool:
        return await self._store.write(_WRITER, _remove, task)


def _every(connection: Connection) -> list[TaskInfo]:
    found = connection.execute(select(table).order_by(table.c.state, table.c.position, table.c.id))
    return [TaskInfo(**row) for row in found.mappings()]


def _put(connection: Connection, task: TaskInfo) -> None:
    connection.execute(delete(table).where(table.c.id == task.id))
    connection.execute(insert(table), msgspec.structs.asdict(task))


def _remove(connection: Connection, task: str) -> bool:
    return connection.execute(delete(table).where(table.c.id == task)).rowcount > 0


if TYPE_CHECKING:

    def is_a_task_store(store: SqlTasks) -> TaskStore:
        return store
