"""What can be done with tasks, and what may not."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from openagent.plugins.tasks import TaskStore
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ids import new_session_id
from openagent.protocol.tasks import TaskCreate, TaskInfo, TaskState, TaskUpdate

LONGEST_TITLE = 500
LONGEST_DETAIL = 64 << 10
_CHANGEABLE = ("title", "state", "detail", "owner", "session", "cwd", "position")


class TaskBoard:
    def __init__(
        self, store: TaskStore, changed: Callable[[TaskInfo], None], removed: Callable[[TaskInfo], None]
    ) -> None:
        self._store = store
        self._changed = changed
        self._removed = removed
        self._writing = asyncio.Lock()

    async def all(self, *, cwd: str = "", state: TaskState | None = None) -> list[TaskInfo]:
        found = await self._store.tasks()
        return [task for task in found if cwd in ("", task.cwd) and state in (None, task.state)]

    async def get(self, identity: str) -> TaskInfo:
        for task in await self._store.tasks():
            if task.id == identity:
                return task
        raise OpenAgentError("not_found", f"There is no task {identity!r}.", hint="It may have been deleted.")

    async def create(self, wanted: TaskCreate) -> TaskInfo:
        now = time.time()
        async with self._writing:
            task = TaskInfo(
                id=new_session_id(),
                title=wanted.title.strip(),
                created_at=now,
                updated_at=now,
                state=wanted.state,
                detail=wanted.detail,
                owner=wanted.owner.strip(),
                session=wanted.session,
                cwd=wanted.cwd,
                position=await self._end_of(wanted.state),
            )
            return await self._keep(task)

    async def adopt(self, identity: str, cwd: str, given: dict[str, Any]) -> TaskInfo:
        """One that has its id already, at the end of those of its state."""
        now = time.time()
        async with self._writing:
            position = await self._end_of(given["state"])
            return await self._keep(
                TaskInfo(id=identity, created_at=now, updated_at=now, cwd=cwd, position=position, **given)
            )

    async def update(self, wanted: TaskUpdate) -> TaskInfo:
        async with self._writing:
            task = await self.get(wanted.task)
            given = {key: getattr(wanted, key) for key in _CHANGEABLE}
            changes = {key: value for key, value in given.items() if value is not UNSET}
            moved: TaskState = changes.get("state", task.state)
            if moved != task.state and "position" not in changes:
                changes["position"] = await self._end_of(moved)
            return await self._keep(msgspec.structs.replace(task, **changes, updated_at=time.time()))

    async def delete(self, identity: str) -> None:
        async with self._writing:
            task = await self.get(identity)
            await self._store.remove_task(identity)
        self._removed(task)

    def problem(self, title: str, detail: str) -> str:
        """Why there can be no such task; empty when there can."""
        if not title.strip() or len(title) > LONGEST_TITLE:
            return f"A task needs a title of at most {LONGEST_TITLE} characters."
        if len(detail) > LONGEST_DETAIL:
            return f"The detail of a task may have {LONGEST_DETAIL >> 10} KB at most."
        return ""

    async def _keep(self, task: TaskInfo) -> TaskInfo:
        if problem := self.problem(task.title, task.detail):
            hint = "Say in a sentence what is to be done; what is long goes into a file of the workspace."
            raise OpenAgentError("invalid_argument", problem, hint=hint)
        await self._store.put_task(task)
        self._changed(task)
        return task

    async def _end_of(self, state: TaskState) -> float:
        return max((task.position for task in await self._store.tasks() if task.state == state), default=0.0) + 1.0
