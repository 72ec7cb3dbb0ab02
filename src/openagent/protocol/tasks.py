"""Tasks: what is to be done, by whom, and how far it is."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, PATCH, POST

TaskState = Literal["todo", "doing", "blocked", "done"]

TaskRunState = Literal["working", "publishing", "open", "answering", "merged", "closed", "pushed", "stopped", "failed"]
"""How far a task is on its way to a merged pull request."""


class TaskRunInfo(Struct, frozen=True, omit_defaults=True):
    """A task's way to a pull request."""

    state: TaskRunState
    """How far it is: working, publishing, open, answering a review; merged, closed, pushed, stopped or failed."""
    session: str
    """The session that works on it."""
    branch: str
    """The branch it becomes."""
    base: str = ""
    """The branch it is to be merged into."""
    template: str = ""
    """What the session was made from; empty: nothing in particular."""
    url: str = ""
    """The pull request's address; empty before there is one."""
    commits: int = 0
    """So many were pushed."""
    problem: str = ""
    """Why it does not go on, and what to do about it."""
    runs_outside: dict[str, str] = {}
    """Files it changed that run later outside the sandbox: the path, and what runs it, such as "git hook"."""


class TaskInfo(Struct, frozen=True, omit_defaults=True):
    """A task."""

    id: str
    """Its id."""
    title: str
    """What is to be done, on one line."""
    created_at: float
    """When it was made, in seconds since 1970."""
    updated_at: float
    """When it was last changed, in seconds since 1970."""
    state: TaskState = "todo"
    """How far it is."""
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
    after: list[str] = []
    """The tasks of the same workspace that have to be done before it, by their ids."""
    waits_for: list[str] = []
    """Those of them that are not done yet."""
    links: list[str] = []
    """What belongs to it: addresses, and files of the workspace."""
    run: TaskRunInfo | None = None
    """Its way to a pull request, when it was given to an agent for that."""


class TaskLogEntry(Struct, frozen=True, omit_defaults=True):
    """What happened with a task."""

    at: float
    """When, in seconds since 1970."""
    text: str
    """What happened."""
    by: str = ""
    """Who did it, or wrote it; empty: the daemon."""


class TaskLog(Struct, frozen=True):
    """What happened with a task."""

    entries: list[TaskLogEntry]
    """The oldest first."""


class TaskList(Struct, frozen=True):
    """Tasks."""

    tasks: list[TaskInfo]
    """By state and place."""


class TasksSynced(Struct, frozen=True, omit_defaults=True):
    """What a synchronization did."""

    file: str
    """The file, from the workspace's root."""
    tasks: int
    """So many stand in the file and on the board."""
    to_board: int = 0
    """So many changes of the file went to the board."""
    to_file: int = 0
    """So many changes of the board went to the file."""
    notes: list[str] = []
    """What was taken away, and where both sides had changed the same."""


class TasksList(ReadingOp[TaskList], tag="tasks.list", needs="read", reach="filtered", routes=GET("/api/tasks")):
    """List tasks, by state and place."""

    cwd: str = ""
    """Only tasks of this workspace; empty: of all."""
    state: TaskState | None = None
    """Only tasks of this state."""


class TaskGet(ReadingOp[TaskInfo], tag="task.get", needs="read", routes=GET("/api/tasks/{task}")):
    """One task."""

    task: str
    """The task, by its id or the beginning of it."""


class TaskCreate(
    Op[TaskInfo], tag="task.create", needs="chat", reach="whole unless named", routes=POST("/api/tasks", status=201)
):
    """Create a task, at the end of those of its state."""

    title: str
    """What is to be done, on one line."""
    state: TaskState = "todo"
    """How far it is."""
    detail: str = ""
    """Markdown."""
    owner: str = ""
    """A person or an agent, by name."""
    session: str = ""
    """The session that works on it."""
    cwd: str = ""
    """The workspace it is about."""
    after: list[str] = []
    """The tasks of the same workspace that have to be done before it, by their ids."""
    links: list[str] = []
    """What belongs to it: addresses, and files of the workspace."""


class TaskUpdate(Op[TaskInfo], tag="task.update", needs="chat", routes=PATCH("/api/tasks/{task}")):
    """Change a task. Only what is given changes; with a new state and no place it goes to the end of those of that
    state."""

    task: str
    """The task, by its id or the beginning of it."""
    title: str | UnsetType = UNSET
    """What is to be done, on one line."""
    state: TaskState | UnsetType = UNSET
    """How far it is."""
    detail: str | UnsetType = UNSET
    """Markdown."""
    owner: str | UnsetType = UNSET
    """A person or an agent, by name."""
    session: str | UnsetType = UNSET
    """The session that works on it."""
    cwd: str | UnsetType = UNSET
    """The workspace it is about."""
    position: float | UnsetType = UNSET
    """Its place among those of its state, the least first."""
    after: list[str] | UnsetType = UNSET
    """The tasks of the same workspace that have to be done before it, by their ids. None may wait for this one."""
    links: list[str] | UnsetType = UNSET
    """What belongs to it: addresses, and files of the workspace."""


class TaskDelete(Op[Done], tag="task.delete", needs="chat", routes=DELETE("/api/tasks/{task}")):
    """Delete a task."""

    task: str
    """The task, by its id or the beginning of it."""


class TaskHistory(ReadingOp[TaskLog], tag="task.log", needs="read", routes=GET("/api/tasks/{task}/log")):
    """What happened with a task, the oldest first."""

    task: str
    """The task, by its id or the beginning of it."""


class TaskNote(Op[TaskLogEntry], tag="task.note", needs="chat", routes=POST("/api/tasks/{task}/log", status=201)):
    """Write into a task's progress log."""

    task: str
    """The task, by its id or the beginning of it."""
    text: str
    """What happened."""


class TaskRun(Op[TaskInfo], tag="task.run", waits=True, routes=POST("/api/tasks/{task}/run", status=202)):
    """Give a task to an agent, in a copy of its workspace. What it does is committed to a branch of its own, pushed,
    and becomes a pull request that is followed until it is merged or closed. To send it is to say that this may be
    pushed. For a task that was given before: go on."""

    task: str
    """The task, by its id or the beginning of it."""
    template: str = ""
    """What its session is made from."""
    base: str = ""
    """The branch to start from and to be merged into; empty: the remote's own."""
    draft: bool = False
    """The pull request is not ready to be merged."""


class TaskFollow(Op[TaskInfo], tag="task.follow", waits=True, routes=POST("/api/tasks/{task}/follow")):
    """Look now at what became of a task's pull request, and not only when its time comes."""

    task: str
    """The task, by its id or the beginning of it."""


class TaskStop(Op[TaskInfo], tag="task.stop", waits=True, routes=POST("/api/tasks/{task}/stop")):
    """Stop what goes on with a task: its agent's turn, and following its pull request. Both stay as they are."""

    task: str
    """The task, by its id or the beginning of it."""


class TasksImported(Struct, frozen=True):
    """Issues of a forge that became tasks."""

    added: list[TaskInfo]
    """Those that are new."""
    known: int
    """So many were tasks already."""


class TasksImport(
    Op[TasksImported], tag="tasks.import", works_there=True, waits=True, routes=POST("/api/tasks/import")
):
    """Make tasks of the open issues of a workspace's forge, as `gh` or `glab` tells them. Those that are tasks already
    stay as they are."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""
    limit: int = 30
    """So many at most, the newest first."""


class TasksSync(Op[TasksSynced], tag="tasks.sync", needs="admin", waits=True, routes=POST("/api/tasks/sync")):
    """Bring a workspace's tasks and its `docs/TASKS.md` together; what was changed on either side is kept."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""
