"""Copies of workspaces, as clients see them."""

from typing import Literal

from msgspec import Struct

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
