"""Where tasks are kept."""

from typing import Protocol

from openagent.protocol.tasks import TaskInfo


class TaskStore(Protocol):
    async def tasks(self) -> list[TaskInfo]:
        """By state and place."""
        ...

    async def put_task(self, task: TaskInfo) -> None:
        """New, or in the place of the one with its id."""
        ...

    async def remove_task(self, task: str) -> bool:
        """False when there is none."""
        ...
