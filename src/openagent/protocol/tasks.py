"""Tasks: what is to be done, by whom, and how far it is."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, PATCH, POST

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


class TasksList(ReadingOp[TaskList], tag="tasks.list", needs="read", reach="filtered", routes=GET("/api/tasks")):
    """List tasks, by state and place."""

    cwd: str = ""
    state: TaskState | None = None


class TaskGet(ReadingOp[TaskInfo], tag="task.get", needs="read", routes=GET("/api/tasks/{task}")):
    """One task."""

    task: str


class TaskCreate(
    Op[TaskInfo], tag="task.create", needs="chat", reach="whole unless named", routes=POST("/api/tasks", status=201)
):
    """Create a task, at the end of those of its state."""

    title: str
    state: TaskState = "todo"
    detail: str = ""
    owner: str = ""
    session: str = ""
    cwd: str = ""


class TaskUpdate(Op[TaskInfo], tag="task.update", needs="chat", routes=PATCH("/api/tasks/{task}")):
    """Change a task. Only what is given changes; with a new state and no place it goes to the end of those of that
    state."""

    task: str
    title: str | UnsetType = UNSET
    state: TaskState | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    position: float | UnsetType = UNSET


class TaskDelete(Op[Done], tag="task.delete", needs="chat", routes=DELETE("/api/tasks/{task}")):
    """Delete a task."""

    task: str


class TasksSync(Op[TasksSynced], tag="tasks.sync", needs="admin", waits=True, routes=POST("/api/tasks/sync")):
    """Bring a workspace's tasks and its `docs/TASKS.md` together; what was changed on either side is kept."""

    cwd: str
