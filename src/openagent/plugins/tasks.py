"""Where tasks are kept."""

from typing import Literal, Protocol

from msgspec import Struct

from openagent.protocol.repository import ForgeProgram
from openagent.protocol.tasks import TaskInfo, TaskLogEntry, TaskRunInfo


class TaskRun(Struct, frozen=True):
    """A task's way to a pull request: what is told of it, and what going on with it takes after a restart."""

    task: str
    info: TaskRunInfo
    place: str
    """The machine and the daemon's home: where its copy is."""
    workspace: str
    """The person's own folder."""
    copy: str
    """The copy of it that the session works in."""
    start: str
    """The commit that the work began from."""
    remote: str = ""
    """Where it is pushed to, as the person's repository said before anybody worked; empty: nowhere."""
    forge: ForgeProgram = ""
    number: int = 0
    """The pull request's; 0 before there is one."""
    step: Literal["work", "describe", "publish", "follow", "answer"] = "work"
    """What is being done. Each is begun again after a restart, and does nothing twice."""
    prompt: str = ""
    """What the session was told last."""
    sent: int = 0
    """So many messages it was sent: the number is part of their ids, so that none comes twice."""
    draft: bool = False
    title: str = ""
    body: str = ""
    """Of the pull request."""
    summary: str = ""
    """What the agent said when it was done."""
    subject: str = ""
    """Of the next commit."""
    heard: list[str] = []
    """Comments and failed checks that the session was told of."""
    owed: bool = False
    """Somebody commented, and is to be told what was done about it."""
    rounds: int = 0
    """How often it has answered."""


class TaskStore(Protocol):
    async def tasks(self) -> list[TaskInfo]:
        """By state and place."""
        ...

    async def put_task(self, task: TaskInfo) -> None:
        """New, or in the place of the one with its id."""
        ...

    async def remove_task(self, task: str) -> bool:
        """With its log and its run. False when there is none."""
        ...

    async def task_log(self, task: str) -> list[TaskLogEntry]:
        """The oldest first."""
        ...

    async def add_to_task_log(self, task: str, entry: TaskLogEntry) -> None: ...


class TaskRunStore(Protocol):
    async def task_run(self, task: str) -> TaskRun | None: ...

    async def open_task_runs(self) -> list[TaskRun]:
        """Those that go on by themselves."""
        ...

    async def put_task_run(self, run: TaskRun, *, is_open: bool) -> None:
        """New, or in the place of the task's last one."""
        ...
