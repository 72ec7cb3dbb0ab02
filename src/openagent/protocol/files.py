"""A workspace's files, as a person reads and edits them."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, PUT

FileKind = Literal["file", "directory", "link", "other"]
FileMark = Literal["", "modified", "new", "deleted", "conflict"]
FromByte = Annotated[int, Meta(ge=0, le=2**53)]


class FileEntry(Struct, frozen=True, omit_defaults=True):
    """What stands in a directory."""

    name: str
    """Its name in the directory."""
    path: str
    """From the workspace's root."""
    kind: FileKind
    """What it is."""
    size: int = 0
    """How large it is, in bytes."""
    modified_at: float = 0.0
    """When it was last changed, in seconds since 1970."""
    mark: FileMark = ""
    """What became of it since the last commit, where that was asked for."""


class FileEntries(Struct, frozen=True, omit_defaults=True):
    """Directories first."""

    path: str
    """The directory, from the workspace's root."""
    entries: list[FileEntry]
    """What is in it."""
    left_out: int = 0
    """There are so many more."""


class FileContent(Struct, frozen=True, omit_defaults=True):
    """What is in a file."""

    path: str
    """Where it is, from the workspace's root."""
    size: int
    """How large it is, in bytes."""
    version: str = ""
    """What an edit names, so that it replaces only this; of bytes, the same until somebody changes the file."""
    text: str = ""
    """What it holds."""
    binary: bool = False
    """It is no UTF-8 text: nothing of it is told, but for a picture that was asked for."""
    media_type: str = ""
    """What kind of picture it is, such as `image/png`; empty: none that every browser shows."""
    data: str = ""
    """The picture, or the bytes that were asked for, in base64."""


class FileWritten(Struct, frozen=True):
    """A file that was written."""

    path: str
    """Where it is, from the workspace's root."""
    size: int
    """How large it is, in bytes."""
    version: str
    """What the next edit names."""


class Folder(Struct, frozen=True, omit_defaults=True):
    """A folder to work in."""

    name: str
    """Its own name."""
    path: str
    """Its whole path."""
    repository: bool = False
    """It is a git repository."""


class Folders(Struct, frozen=True, omit_defaults=True):
    """The folders in a folder."""

    path: str
    """The folder itself."""
    home: str
    """The home of whoever runs the daemon."""
    folders: list[Folder]
    """By name; those that begin with a dot are left out."""
    parent: str = ""
    """The folder it is in; empty: in none."""
    repository: bool = False
    """It is a git repository itself."""
    left_out: int = 0
    """There are so many more."""


class FoldersList(
    ReadingOp[Folders],
    tag="folders.list",
    needs="read",
    reach="whole unless named",
    waits=True,
    routes=GET("/api/folders"),
):
    """The folders in a folder of the daemon's machine, to choose a workspace from."""

    cwd: str = ""
    """The folder; empty: the home of whoever runs the daemon."""


class FilesList(
    ReadingOp[FileEntries],
    tag="files.list",
    needs="read",
    reach="open",
    waits=True,
    routes=(
        GET("/api/agents/{id=session}/files", "A directory of a session's workspace.", left_out=("copy", "cwd")),
        GET("/api/workspaces/{id=copy}/files", "A directory of a copy.", left_out=("session", "cwd")),
    ),
    works_there=True,
):
    """What is in a directory of a session's workspace, of a workspace's copy, or of a folder."""

    session: str = ""
    """The session whose workspace it is."""
    copy: str = ""
    """The copy, by its id or name, in place of a session."""
    cwd: str = ""
    """A folder, in place of a session."""
    path: str = "."
    """The directory, from the workspace's root."""
    below: bool = False
    """All files below it instead, without what `.gitignore` and good sense leave out."""
    query: str = ""
    """Of all files below it, those whose path has these letters in this order, whether large or small."""
    changed: bool = False
    """Files below it that git says were changed since the last commit instead, each with its mark."""


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
    """The session whose workspace it is."""
    copy: str = ""
    """The copy, by its id or name, in place of a session."""
    path: str
    """Where it is, from the workspace's root."""
    picture: bool = False
    """Of a picture, tell what it shows."""
    start: FromByte | None = None
    """Its bytes from here on instead, a mebibyte at most, whatever it holds and however large it is."""


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
    """The session whose workspace it is."""
    copy: str = ""
    """The copy, by its id or name, in place of a session."""
    path: str
    """Where it is, from the workspace's root."""
    text: str
    """What the file is to hold."""
    version: str | None = None
    """The version this is an edit of; empty: there must be no such file. None: whatever is there is replaced."""
