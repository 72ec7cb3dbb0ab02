"""The files an agent works on: saved states that can be gone back to, and copies that can be merged back.

Paths inside a workspace are given as text for people; bytes that are no UTF-8 appear as `\\xNN`.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from openagent.protocol.review import Review
from openagent.protocol.undo import ChangedFile
from openagent.protocol.workspaces import CopyMethod, MergeChoice, WorkspacesCollected


class LeftOut(Struct, frozen=True):
    """A file or folder that was passed over: it is not saved, or it was not touched."""

    path: str
    reason: str


CheckpointKind = Literal["turn", "before_restore", "before_merge"]


class Checkpoint(Struct, frozen=True):
    id: str
    session: str
    turn: int
    at: float
    kind: CheckpointKind
    files: int
    left_out: list[LeftOut]
    """What this checkpoint cannot bring back."""
    git_state: bool
    """Whether HEAD, refs, index and settings of the workspace's own repository are saved too."""


class Restored(Struct, frozen=True):
    checkpoint: str
    before: str
    """The checkpoint of what was there before: restoring it undoes the restore."""
    written: list[str]
    removed: list[str]
    kept: list[LeftOut]
    """What is not as the checkpoint has it, because it could not be saved first or changed meanwhile."""
    git_state: Literal["untouched", "restored", "refused"]
    git_detail: str = ""
    undo: str = ""
    """What takes a rewind back."""
    others: list[LeftOut] = []
    """What others changed since, or may have written themselves: it was left as it is."""
    merged: list[str] = []
    """What others changed since in other places: their changes stay, the session's are gone."""
    path: str = ""
    """The one file it was about, when it was a revert."""
    turn: int = 0
    """Of a revert: the turn whose change it took back, or the last one."""


class Caller(Struct, frozen=True):
    """Whose writes they are."""

    session: str
    turn: int
    call: str = ""


class WriteWindow(Protocol):
    """A stretch of time in which a call may write files."""

    trouble: Exception | None
    """Why the files could not be read before the call. What is found afterwards may then be somebody else's."""

    def wrote(self, path: str) -> None:
        """For one that says itself what it writes: a path in the workspace, without links in it."""
        ...

    def goes_on(self, running: Callable[[], bool]) -> None:
        """It lasts until `running` is false, in the background."""
        ...


class LastUndo(Struct, frozen=True):
    undo: str
    at: float
    """Seconds since the epoch."""
    gone_on: bool
    """The session has written files since."""


class Part(Struct, frozen=True):
    """Of what a session changed, what is to be taken back."""

    session: str
    path: str
    version: str
    """Of the change, as the review told it."""
    turn: int | None = None
    """None: what all its turns did together."""
    hunks: Sequence[int] = ()
    """Counted from 1; none: all of it."""


class Writes(Protocol):
    """What sessions wrote, known from the files, and the way back from it."""

    async def begin(self, workspace: Path, by: Caller, *, exact: bool = False) -> WriteWindow:
        """`exact`: the call says itself what it writes, and is quick. Every window must be ended."""
        ...

    async def unsaved(self, workspace: Path, session: str) -> Sequence[Path]:
        """What in a workspace could not be brought back if that session changed it, because it is beyond the limits or
        has no copy; the workspace itself when nothing could. What the session itself made is not among it. A work
        tree's repository is, though it lies elsewhere."""
        ...

    def known_unsaved(self, workspace: Path, session: str) -> Sequence[Path]:
        """The same without looking: as it was seen last."""
        ...

    async def end(self, window: WriteWindow) -> Checkpoint | None:
        """The state before the turn, when this was the first call of it that wrote something."""
        ...

    async def interrupted(self, workspace: Path, by: Caller) -> None:
        """A crash cut this call off: what has changed since it was started is its doing."""
        ...

    async def changes(
        self, workspace: Path, session: str, turn: int | None, *, since: bool = False
    ) -> list[ChangedFile]:
        """What a turn wrote, or what the session wrote and did not take back, all of it or `since` the turn."""
        ...

    async def rewind(
        self,
        workspace: Path,
        session: str,
        turn: int,
        *,
        git_state: bool = False,
        overwrite: bool = False,
        paths: Collection[str] = (),
    ) -> Restored | None:
        """Takes back what the session wrote from a turn on, and nothing else. None when it wrote nothing.

        With `paths` only these files, and what is in these folders; one that the session has not written is refused,
        and nothing is done. What others changed since stays as it is, unless it is to be overwritten.
        """
        ...

    async def last_undo(self, workspace: Path, session: str) -> LastUndo | None:
        """The newest undo or revert that was not brought back; None when there is none."""
        ...

    async def keeps(self, workspace: Path, session: str) -> bool:
        """Whether anything is kept here of what the session wrote."""
        ...

    async def unrewind(self, workspace: Path, session: str, undo: str) -> Restored | None:
        """None when there is no such rewind of files, or it was taken back."""
        ...

    async def review(self, workspace: Path, session: str, turn: int | None, path: str) -> Review:
        """What the session changed and did not take back, and what others changed since; or one file of it, whole."""
        ...

    async def revert(self, workspace: Path, part: Part) -> Restored:
        """Takes back what the session did to one file, or some hunks of it. `unrewind` brings it back."""
        ...


class Checkpoints(Protocol):
    async def take(
        self, workspace: Path, session: str, turn: int, *, even_unchanged: bool = False
    ) -> Checkpoint | None:
        """None when nothing has changed since this session's last checkpoint of this workspace, unless one is wanted
        all the same."""
        ...

    async def restore(self, workspace: Path, checkpoint: str, *, git_state: bool = False) -> Restored:
        """Makes the files exactly what they were; `git_state` also the repository's HEAD, refs, index and settings."""
        ...

    async def diff(self, workspace: Path, before: str, after: str | None = None) -> list[ChangedFile]:
        """Between two checkpoints, or a checkpoint and the files as they are."""
        ...

    async def history(self, session: str) -> list[Checkpoint]:
        """Oldest first."""
        ...

    async def forget(self, session: str) -> None: ...


class Quota(Struct, frozen=True):
    bytes: int | None = None
    files: int | None = None


class Copy(Struct, frozen=True):
    id: str
    name: str
    origin: str
    path: str
    """Where the copy's files are."""
    method: CopyMethod
    created_at: float
    needs: list[str]
    """Other folders that programs in the copy must reach for git to work there."""
    left_out: list[LeftOut]
    quota: Quota | None = None
    """What it may hold, from its first day on."""


class Conflict(Struct, frozen=True):
    """Changed on both sides. The origin keeps its own version, the copy its own."""

    path: str
    reason: str
    origin: str | None
    """The origin's text, cut at a bound; None when it has no such file or it is not text."""
    copy: str | None
    base: str | None = None
    """What both started from."""
    version: str = ""
    """Of both sides."""
    cut: bool = False
    """Not all of each text is told."""


class Merged(Struct, frozen=True):
    applied: list[str]
    """What the origin took over from the copy."""
    merged: list[str]
    """Changed on both sides in different places: both changes are in."""
    conflicts: list[Conflict]
    before: str
    """A checkpoint of the origin as it was before."""


class WorkspaceUsage(Struct, frozen=True):
    bytes: int
    """On disk."""
    files: int


class Backup(Struct, frozen=True):
    archive: str
    files: int
    left_out: list[LeftOut]


class Workspaces(Protocol):
    async def create(
        self, workspace: Path, name: str, *, how: Literal["auto"] | CopyMethod = "auto", quota: Quota | None = None
    ) -> Copy: ...

    async def copies(self, workspace: Path | None = None) -> list[Copy]: ...

    async def open(self, copy: str) -> Path:
        """The copy's files, mounted again when the machine was restarted."""
        ...

    async def diff(self, copy: str) -> list[ChangedFile]:
        """What the copy changed since it was made or last merged."""
        ...

    async def merge_back(self, copy: str, *, by: Caller | None = None, settled: Sequence[MergeChoice] = ()) -> Merged:
        """`by`: whose call brings the copy's edits back; what is merged is its write."""
        ...

    async def remove(self, copy: str, *, force: bool = False) -> None:
        """Refuses while the copy holds changes that were not merged back, unless forced."""
        ...

    async def usage(self, workspace: Path) -> WorkspaceUsage: ...

    async def check_quota(self, workspace: Path, quota: Quota) -> WorkspaceUsage:
        """Raises OpenAgentError('workspace_full')."""
        ...

    async def backup(self, workspace: Path, archive: Path) -> Backup: ...

    async def restore_backup(self, archive: Path, to: Path, *, quota: Quota | None = None) -> Backup:
        """Into a folder that does not exist yet or is empty."""
        ...

    async def gc(self, sessions: Collection[str], *, keep: int = 200) -> WorkspacesCollected:
        """Drops the checkpoints of other sessions, of each session all but the newest, and what no copy uses."""
        ...
