"""Where tasks are kept."""

from typing import Protocol

from openagent.protocol.tasks import TaskInfo, TaskLogEntry


class TaskStore(Protocol):
    async def tasks(self) -> list[TaskInfo]:
        """By state and place."""
        ...

    async def put_task(self, task: TaskInfo) -> None:
        """New, or in the place of the one with its id."""
        ...

    async def remove_task(self, task: str) -> bool:
        """With its log. False when there is none."""
        ...

    async def task_log(self, task: str) -> list[TaskLogEntry]:
        """The oldest first."""
        ...

    async def add_to_task_log(self, task: str, entry: TaskLogEntry) -> None: ...
