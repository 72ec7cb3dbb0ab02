"""Copies of workspaces, backups, and the space they take."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST
from openagent.protocol.undo import Changes

CopyMethod = Literal["overlay", "worktree", "copy"]


class WorkspaceCopy(Struct, frozen=True, omit_defaults=True):
    id: str
    name: str
    origin: str
    path: str
    """Where its files are: give it to a session as its directory."""
    method: CopyMethod
    created_at: float
    left_out: list[str] = []
    """What was not copied, and why."""


class WorkspaceCopies(Struct, frozen=True):
    copies: list[WorkspaceCopy]


class MergeConflict(Struct, frozen=True, omit_defaults=True):
    """Changed on both sides. The origin keeps its own version, the copy its own."""

    path: str
    reason: str
    origin: str | None = None
    copy: str | None = None


class WorkspaceMerged(Struct, frozen=True, omit_defaults=True):
    applied: list[str] = []
    merged: list[str] = []
    """Changed on both sides in different places: both changes are in."""
    conflicts: list[MergeConflict] = []
    before: str = ""
    """A checkpoint of the origin as it was before."""


class WorkspaceBackup(Struct, frozen=True, omit_defaults=True):
    archive: str
    files: int
    left_out: list[str] = []


class WorkspacesCollected(Struct, frozen=True, omit_defaults=True):
    checkpoints: int = 0
    stores: int = 0
    copies: int = 0
    freed_bytes: int = 0


class WorkspacesList(
    ReadingOp[WorkspaceCopies],
    tag="workspaces.list",
    needs="read",
    reach="filtered",
    waits=True,
    routes=GET("/api/workspaces"),
):
    """List copies of workspaces."""

    cwd: str = ""
    """Only copies of this workspace."""


class WorkspacesCreate(
    Op[WorkspaceCopy],
    tag="workspaces.create",
    needs="admin",
    works_there=True,
    waits=True,
    routes=POST("/api/workspaces", status=201),
):
    """Copy a workspace."""

    cwd: str
    name: str
    method: CopyMethod | None = None
    """The cheapest that works here when left out."""
    max_bytes: int | None = None
    max_files: int | None = None


class WorkspacesDiff(
    ReadingOp[Changes], tag="workspaces.diff", needs="read", waits=True, routes=GET("/api/workspaces/{id=copy}/diff")
):
    """What a copy has changed since it was made or last merged."""

    copy: str


class WorkspacesMerge(
    Op[WorkspaceMerged],
    tag="workspaces.merge",
    needs="admin",
    waits=True,
    routes=POST("/api/workspaces/{id=copy}/merge"),
):
    """Bring a copy's changes back into its origin. What both changed in one place stays as it is on both sides."""

    copy: str


class WorkspacesRemove(
    Op[Done], tag="workspaces.remove", needs="admin", waits=True, routes=DELETE("/api/workspaces/{id=copy}")
):
    """Remove a copy."""

    copy: str
    force: bool = False
    """Also with changes that were not merged back."""


class WorkspacesBackup(Op[WorkspaceBackup], tag="workspaces.backup", needs="admin", waits=True):
    """Pack a workspace into an archive."""

    cwd: str
    archive: str


class WorkspacesRestore(
    Op[WorkspaceBackup],
    tag="workspaces.restore",
    needs="admin",
    works_there=True,
    waits=True,
    routes=POST("/api/workspaces/restore"),
):
    """Unpack a backup into a folder that does not exist yet or is empty."""

    archive: str
    to: str


class WorkspacesCollect(
    Op[WorkspacesCollected],
    tag="workspaces.gc",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/workspaces/collect"),
):
    """Give back the space of checkpoints and copies that nobody needs any more."""

    keep: int = 200
    """Checkpoints kept of each session, the newest ones."""
