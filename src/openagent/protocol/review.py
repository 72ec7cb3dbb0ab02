"""Everything a session changed, to be looked through in one place, and taken back piece by piece."""

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST
from openagent.protocol.undo import ChangedFile


class ReviewedFile(Struct, frozen=True):
    """A file that a session changed, and what names this very change of it."""

    file: ChangedFile
    """How it changed. The patch is told of the files that were asked for alone."""
    version: str
    """Stands for the file before and after: it is another one as soon as the session changes it again."""


class ReviewedTurn(Struct, frozen=True):
    """What one turn changed, without what was taken back."""

    turn: int
    """The turn, by its number in the session."""
    files: list[ReviewedFile]
    """Each file it changed."""


class OthersChanges(Struct, frozen=True, omit_defaults=True):
    """What somebody else changed in the workspace since the session first wrote there."""

    files: list[ChangedFile]
    """Each file, the first of them when there are many."""
    session: str = ""
    """The other session; empty: no session of this daemon, so most likely a person."""
    name: str = ""
    """What that session is called."""
    more: int = 0
    """How many files more there are."""


class Review(Struct, frozen=True, omit_defaults=True):
    """What a session changed, as a whole and by turn, and what others changed since."""

    files: list[ReviewedFile] = []
    """With their patches: of the whole session, or of the turn that was asked for."""
    turns: list[ReviewedTurn] = []
    """Turns that changed files, the first one first, without patches."""
    others: list[OthersChanges] = []
    """By who it was."""
    repository: list[int] = []
    """Turns that changed the repository's HEAD, branches, index or objects, the first one first."""
    missing: str = ""
    """Why nothing is known of what turns changed, although they did."""


class Reverted(Struct, frozen=True, omit_defaults=True):
    """What a revert did."""

    undo: str
    """What brings it back, with `session.redo`."""
    written: list[str] = []
    """Files that were written."""
    removed: list[str] = []
    """Files that are gone again."""
    merged: list[str] = []
    """Files in which changes of others stayed."""
    runs_outside: dict[str, str] = {}
    """Files it wrote that run later outside the sandbox: the path, and what runs it, such as "git hook"."""


class ReviewShow(
    ReadingOp[Review], tag="review.show", needs="read", waits=True, routes=GET("/api/agents/{id=session}/review")
):
    """Everything a session changed and did not take back, as a whole and by turn; apart from it what others changed."""

    session: str
    """The session, by its id or the beginning of it."""
    turn: int | None = None
    """Patches of this turn; null: of the whole session."""
    path: str = ""
    """Only this file, from the workspace's root, and all of its patch; empty: every file, long patches cut."""


class ReviewRevert(
    Op[Reverted],
    tag="review.revert",
    needs="chat",
    tells=True,
    exact=True,
    waits=True,
    routes=POST("/api/agents/{id=session}/review/revert"),
):
    """Take back what a session did to one file, or some hunks of it. What others wrote stays; where that cannot be done
    nothing is changed."""

    session: str
    """The session, by its id or the beginning of it."""
    path: str
    """The file, from the workspace's root."""
    version: str
    """As `review.show` told it: where the session has changed the file since, nothing is taken back."""
    turn: int | None = None
    """What this turn did to it; null: what the whole session did."""
    hunks: list[int] = []
    """Of the patch, counted from 1; none: all of it."""
