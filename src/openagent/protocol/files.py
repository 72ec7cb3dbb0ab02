"""A workspace's files, as a person reads and edits them."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, PUT

FileKind = Literal["file", "directory", "link", "other"]


class FileEntry(Struct, frozen=True, omit_defaults=True):
    name: str
    path: str
    """From the workspace's root."""
    kind: FileKind
    size: int = 0
    modified_at: float = 0.0


class FileEntries(Struct, frozen=True, omit_defaults=True):
    """Directories first."""

    path: str
    entries: list[FileEntry]
    left_out: int = 0
    """There are so many more."""


class FileContent(Struct, frozen=True, omit_defaults=True):
    path: str
    size: int
    version: str = ""
    text: str = ""
    binary: bool = False
    """It is no UTF-8 text: nothing of it is told."""


class FileWritten(Struct, frozen=True):
    path: str
    size: int
    version: str


class FilesList(
    ReadingOp[FileEntries],
    tag="files.list",
    needs="read",
    reach="open",
    waits=True,
    routes=(
        GET("/api/agents/{id=session}/files", "A directory of a session's workspace.", left_out=("copy",)),
        GET("/api/workspaces/{id=copy}/files", "A directory of a copy.", left_out=("session",)),
    ),
):
    """What is in a directory of a session's workspace, or of a workspace's copy."""

    session: str = ""
    copy: str = ""
    path: str = "."
    below: bool = False
    """All files below it instead, without what `.gitignore` and good sense leave out."""


class FilesRead(
    ReadingOp[FileContent],
    tag="files.read",
    needs="read",
    reach="open",
    waits=True,
    routes=GET("/api/agents/{id=session}/files/content", "A file of a session's workspace.", left_out=("copy",)),
):
    """A file of a session's workspace, or of a workspace's copy."""

    session: str = ""
    copy: str = ""
    path: str


class FilesWrite(
    Op[FileWritten],
    tag="files.write",
    needs="chat",
    reach="open",
    acts=True,
    waits=True,
    tells=True,
    routes=PUT("/api/agents/{id=session}/files/content", left_out=("copy",)),
):
    """Create or replace a file; parent directories are made."""

    session: str = ""
    copy: str = ""
    path: str
    text: str
    version: str | None = None
    """The version this is an edit of; empty: there must be no such file. None: whatever is there is replaced."""
