"""Queries over tasks."""

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Connection, delete, insert, select

from openagent.plugins.tasks import TaskRun, TaskRunStore, TaskStore
from openagent.protocol.tasks import TaskInfo, TaskLogEntry
from openagent.store.sql_store import SqlStore
from openagent.store.tables import task_log, task_runs
from openagent.store.tables import tasks as table

_WRITER = "tasks"
_COLUMNS = tuple(column.name for column in table.columns)
_LISTS = ("after", "links")


class SqlTasks:
    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def tasks(self) -> list[TaskInfo]:
        return await self._store.read(_every)

    async def put_task(self, task: TaskInfo) -> None:
        await self._store.write(_WRITER, _put, task)

    async def remove_task(self, task: str) -> bool:
        return await self._store.write(_WRITER, _remove, task)

    async def task_log(self, task: str) -> list[TaskLogEntry]:
        return await self._store.read(_log, task)

    async def add_to_task_log(self, task: str, entry: TaskLogEntry) -> None:
        await self._store.write(_WRITER, _add, task, entry)

    async def task_run(self, task: str) -> TaskRun | None:
        return await self._store.read(_run, task)

    async def open_task_runs(self) -> list[TaskRun]:
        return await self._store.read(_open_runs)

    async def put_task_run(self, run: TaskRun, *, is_open: bool) -> None:
        await self._store.write(_WRITER, _put_run, run, is_open)


def _every(connection: Connection) -> list[TaskInfo]:
    runs = {run.task: run.info for run in map(_decoded, connection.execute(select(task_runs.c.record)).scalars())}
    found = connection.execute(select(table).order_by(table.c.state, table.c.position, table.c.id)).mappings()
    return [TaskInfo(**_row(dict(row)), run=runs.get(row["id"])) for row in found]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: msgspec.json.decode(row[name], type=list[str]) for name in _LISTS}


def _put(connection: Connection, task: TaskInfo) -> None:
    values = {name: getattr(task, name) for name in _COLUMNS}
    values |= {name: msgspec.json.encode(values[name]).decode() for name in _LISTS}
    connection.execute(delete(table).where(table.c.id == task.id))
    connection.execute(insert(table), values)


def _remove(connection: Connection, task: str) -> bool:
    for kept in (task_log, task_runs):
        connection.execute(delete(kept).where(kept.c.task == task))
    return connection.execute(delete(table).where(table.c.id == task)).rowcount > 0


def _log(connection: Connection, task: str) -> list[TaskLogEntry]:
    found = connection.execute(select(task_log).where(task_log.c.task == task).order_by(task_log.c.id))
    return [TaskLogEntry(row.at, row.text, row.by) for row in found]


def _add(connection: Connection, task: str, entry: TaskLogEntry) -> None:
    connection.execute(insert(task_log), {"task": task, "at": entry.at, "by": entry.by, "text": entry.text})


def _run(connection: Connection, task: str) -> TaskRun | None:
    record = connection.execute(select(task_runs.c.record).where(task_runs.c.task == task)).scalar()
    return _decoded(record) if record is not None else None


def _open_runs(connection: Connection) -> list[TaskRun]:
    return [
        _decoded(record) for record in connection.execute(select(task_runs.c.record).where(task_runs.c.open)).scalars()
    ]


def _put_run(connection: Connection, run: TaskRun, is_open: bool) -> None:
    connection.execute(delete(task_runs).where(task_runs.c.task == run.task))
    record = msgspec.json.encode(run).decode()
    connection.execute(insert(task_runs), {"task": run.task, "open": is_open, "record": record})


def _decoded(record: str) -> TaskRun:
    return msgspec.json.decode(record, type=TaskRun)


if TYPE_CHECKING:

    def is_a_task_store(store: SqlTasks) -> tuple[TaskStore, TaskRunStore]:
        return store, store
