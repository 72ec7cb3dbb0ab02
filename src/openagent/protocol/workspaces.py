"""Copies of workspaces, backups, and the space they take."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST
from openagent.protocol.undo import Changes

CopyMethod = Literal["overlay", "worktree", "copy"]


class WorkspaceCopy(Struct, frozen=True, omit_defaults=True):
    """A copy of a workspace."""

    id: str
    """Its id."""
    name: str
    """Its name."""
    origin: str
    """The folder it is a copy of."""
    path: str
    """Where its files are: give it to a session as its directory."""
    method: CopyMethod
    """How it was made."""
    created_at: float
    """When it was made, in seconds since 1970."""
    left_out: list[str] = []
    """What was not copied, and why."""


class WorkspaceCopies(Struct, frozen=True):
    """Copies of workspaces."""

    copies: list[WorkspaceCopy]
    """Each copy."""


class MergeConflict(Struct, frozen=True, omit_defaults=True):
    """Changed on both sides. The origin keeps its own version, the copy its own."""

    path: str
    """From the workspace's root."""
    reason: str
    """Why it could not be merged."""
    origin: str | None = None
    """What the origin has; null: nothing."""
    copy: str | None = None
    """What the copy has; null: nothing."""
    base: str | None = None
    """What both started from; null: nothing."""
    version: str = ""
    """Stands for both sides, to be given back when it is settled."""
    cut: bool = False
    """One of the texts is longer than what is told: it cannot be edited from here."""


class MergeChoice(Struct, frozen=True, omit_defaults=True):
    """How a conflict is settled."""

    path: str
    """From the workspace's root."""
    take: Literal["origin", "copy", "text"]
    """The origin's version stays, the copy's comes in its place, or what `text` says."""
    text: str = ""
    """The whole file, when neither of the two is wanted as it is."""
    version: str = ""
    """As the conflict told it: where either side has changed since, nothing is settled. Empty: whatever they are."""


class WorkspaceMerged(Struct, frozen=True, omit_defaults=True):
    """What a merge did."""

    applied: list[str] = []
    """Files that were brought back as they are."""
    merged: list[str] = []
    """Changed on both sides in different places: both changes are in."""
    conflicts: list[MergeConflict] = []
    """What both sides changed in one place."""
    before: str = ""
    """A checkpoint of the origin as it was before."""


class WorkspaceBackup(Struct, frozen=True, omit_defaults=True):
    """An archive of a workspace."""

    archive: str
    """The archive, on the daemon's machine."""
    files: int
    """How many files it holds."""
    left_out: list[str] = []
    """What it does not hold, and why."""


class WorkspacesCollected(Struct, frozen=True, omit_defaults=True):
    """What was given back."""

    checkpoints: int = 0
    """How many checkpoints went."""
    stores: int = 0
    """How many stores of checkpoints went."""
    copies: int = 0
    """How many copies went."""
    freed_bytes: int = 0
    """What that freed, in bytes."""


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
    """The workspace to copy."""
    name: str
    """What to call the copy."""
    method: CopyMethod | None = None
    """The cheapest that works here when left out."""
    max_bytes: int | None = None
    """How large the copy may be, in bytes; null: as configured."""
    max_files: int | None = None
    """How many files it may have; null: as configured."""


class WorkspacesDiff(
    ReadingOp[Changes], tag="workspaces.diff", needs="read", waits=True, routes=GET("/api/workspaces/{id=copy}/diff")
):
    """What a copy has changed since it was made or last merged."""

    copy: str
    """A copy of a workspace, by its id or name."""


class WorkspacesMerge(
    Op[WorkspaceMerged],
    tag="workspaces.merge",
    needs="admin",
    waits=True,
    routes=POST("/api/workspaces/{id=copy}/merge"),
):
    """Bring a copy's changes back into its origin. What both changed in one place stays as it is on both sides, unless
    it is settled."""

    copy: str
    """A copy of a workspace, by its id or name."""
    settled: list[MergeChoice] = []
    """What becomes of files that are in conflict."""


class WorkspacesRemove(
    Op[Done], tag="workspaces.remove", needs="admin", waits=True, routes=DELETE("/api/workspaces/{id=copy}")
):
    """Remove a copy."""

    copy: str
    """A copy of a workspace, by its id or name."""
    force: bool = False
    """Also with changes that were not merged back."""


class WorkspacesBackup(Op[WorkspaceBackup], tag="workspaces.backup", needs="admin", waits=True):
    """Pack a workspace into an archive."""

    cwd: str
    """The workspace to pack."""
    archive: str
    """Where to write it, on the daemon's machine."""


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
    """The archive, on the daemon's machine."""
    to: str
    """The folder to unpack it into."""


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
