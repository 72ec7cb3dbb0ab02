"""Tasks: what is to be done, by whom, and how far it is."""

from typing import ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from openagent.protocol.op import Op, ReadingOp

TaskState = Literal["todo", "doing", "blocked", "done"]


class TaskInfo(Struct, frozen=True, omit_defaults=True):
    id: str
    title: str
    created_at: float
    updated_at: float
    state: TaskState = "todo"
    detail: str = ""
    """Markdown."""
    owner: str = ""
    """A person or an agent, by name."""
    session: str = ""
    """The session that works on it."""
    cwd: str = ""
    """The workspace it is about."""
    position: float = 0.0
    """Its place among those of its state, the least first."""


class TaskList(Struct, frozen=True):
    tasks: list[TaskInfo]


class TasksSynced(Struct, frozen=True, omit_defaults=True):
    file: str
    tasks: int
    """So many stand in the file and on the board."""
    to_board: int = 0
    """So many changes of the file went to the board."""
    to_file: int = 0
    notes: list[str] = []
    """What was taken away, and where both sides had changed the same."""


class TasksList(ReadingOp, frozen=True, kw_only=True, tag="tasks.list"):
    """By state and place."""

    cwd: str = ""
    state: TaskState | None = None


class TaskGet(ReadingOp, frozen=True, kw_only=True, tag="task.get"):
    task: str


class TaskCreate(Op, frozen=True, kw_only=True, tag="task.create"):
    """At the end of those of its state."""

    title: str
    state: TaskState = "todo"
    detail: str = ""
    owner: str = ""
    session: str = ""
    cwd: str = ""


class TaskUpdate(Op, frozen=True, kw_only=True, tag="task.update"):
    """Only what is given changes. With a new state and no place, it goes to the end of those of that state."""

    task: str
    title: str | UnsetType = UNSET
    state: TaskState | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    position: float | UnsetType = UNSET


class TaskDelete(Op, frozen=True, kw_only=True, tag="task.delete"):
    task: str


class TasksSync(Op, frozen=True, kw_only=True, tag="tasks.sync"):
    """Bring a workspace's tasks and its `docs/TASKS.md` together; what was changed on either side is kept."""

    waits: ClassVar[bool] = True
    cwd: str
