"""What a session changed, and the way back."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST


class ChangedFile(Struct, frozen=True, omit_defaults=True):
    """A file that changed."""

    path: str
    """From the workspace's root."""
    status: Literal["A", "M", "D", "R"]
    """Added, modified, deleted or renamed."""
    added: int = 0
    """Lines that are new."""
    removed: int = 0
    """Lines that are gone."""
    patch: str = ""
    """Unified diff, cut at a bound."""
    old_path: str = ""
    """What a renamed file was called before."""
    binary: bool = False
    """It is no text: there is no patch."""
    cut: bool = False
    """The patch is longer than what is told."""
    others: bool = False
    """Others have changed it since."""
    shared: str = ""
    """Why it may have been somebody else's; empty when it was surely the session's."""
    runs_outside: str = ""
    """What runs it later outside the sandbox, such as "git hook"; empty: nothing that is known."""
    ignored: bool = False
    """The workspace's git ignores it, and nothing that is known runs it outside the sandbox: it is shown after the
    others, folded."""


class Changes(Struct, frozen=True):
    """Files that changed."""

    files: list[ChangedFile]
    """Each changed file."""


class LeftAlone(Struct, frozen=True):
    """A file that was left as it is."""

    path: str
    """From the workspace's root."""
    reason: str
    """Why it was left as it is."""


class Rewound(Struct, frozen=True, omit_defaults=True):
    """What a rewind did."""

    turn: int
    """The turn that was taken back, with those after it."""
    undo: str = ""
    """What takes the rewind back, with `session.redo`."""
    written: list[str] = []
    """Files that were brought back."""
    removed: list[str] = []
    """Files that are gone again."""
    kept: list[str] = []
    """What could not be restored, and why."""
    git: str = ""
    """What became of the repository's own state, when that was asked for."""
    others: list[LeftAlone] = []
    """What others changed since, or may have written: it was left as it is, unless that was asked for."""
    merged: list[str] = []
    """What others changed since in other places: their changes are still in it."""
    stopped: list[str] = []
    """Sub-agents and commands of those turns that were still at work in the background, and were ended."""
    beside: list[str] = []
    """Other sessions in the middle of a turn in this folder: nothing of theirs was touched."""
    runs_outside: dict[str, str] = {}
    """Files it wrote that run later outside the sandbox: the path, and what runs it, such as "git hook"."""


class SessionUndo(
    Op[Rewound], tag="session.undo", needs="chat", tells=True, exact=True, routes=POST("/api/agents/{id=session}/undo")
):
    """Undo what a session wrote from a turn on. The conversation stays, unless it is asked for. `session.redo` brings
    everything back."""

    session: str
    """The session, by its id or the beginning of it."""
    turn: int
    """The first turn that is undone, with those after it."""
    paths: list[str] = []
    """Only these files, and all in these folders, from the workspace's root; none: every file."""
    files: bool = True
    """Undo the changes to files."""
    conversation: bool = False
    """Also take the turns out of the conversation, for which the whole turns count, whatever `paths` says."""
    git_state: bool = False
    """Also the repository's HEAD, branches and index."""
    others: Literal["keep", "overwrite"] = "keep"
    """What becomes of files that others changed since, or may have written: they stay as they are, or go back too."""


class SessionRedo(
    Op[Rewound], tag="session.redo", needs="chat", tells=True, exact=True, routes=POST("/api/agents/{id=session}/redo")
):
    """Bring back what an undo or a revert took: files and conversation, but for what others did since."""

    session: str
    """The session, by its id or the beginning of it."""
    undo: str = ""
    """As the answer to the undo and its event name it; empty: the last one, unless the session has gone on since."""


class SessionChanges(
    ReadingOp[Changes], tag="session.changes", needs="read", routes=GET("/api/agents/{id=session}/diff")
):
    """What a session, or one turn of it, changed. What was taken back, and what others wrote, is no part of it."""

    session: str
    """The session, by its id or the beginning of it."""
    turn: int | None = None
    """Only this turn; null: the whole session."""
    since: bool = False
    """This turn and all after it, as far as nothing was taken back: what a rewind to before it would take back."""
