"""Files of a workspace, for a person: `files.*`.

Rules count here too: what they would ask a person about needs somebody who may approve, what they deny is denied.
"""

import asyncio
import base64
import hashlib
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from openagent.core.audit import entry
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.index.walk import walk
from openagent.plugins.files_read import FilesRead as Seen
from openagent.plugins.files_read import Stamp
from openagent.plugins.store import Batch
from openagent.plugins.tool import ToolContext
from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts, Effect
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.files import (
    FileContent,
    FileEntries,
    FileEntry,
    FileKind,
    FilesList,
    FilesRead,
    FilesWrite,
    FileWritten,
)
from openagent.protocol.sessions import strictest
from openagent.safety.service import Safety
from openagent.tools.beneath import Root
from openagent.tools.changeset import Change, carry_out
from openagent.tools.files import WHOLE_FILE, Opened, open_directory, open_file, stamp_of
from openagent.tools.read_file import image_type
from openagent.workbench.git_marks import git_marks

MOST_ENTRIES = 5000
PIECE = 1024 * 1024
_TOOLS: dict[Effect, str] = {"read": "read_file", "write": "write_file"}


class _Hand(NamedTuple):
    """As much of a tool's context as writing needs. What a person writes, the model has not seen."""

    scratch: Path
    files_read: Seen

    def wrote(self, path: str) -> None:
        """A person's own: no session's undo takes it back."""


class FileService:
    def __init__(self, manager: SessionManager, safety: Safety, hidden: Sequence[Path], *, copies: Path) -> None:
        """`hidden` is the daemon's own, wherever a workspace holds it; `copies` lies within it and is not."""
        self._manager = manager
        self._workspaces = safety.workspaces
        self._rules = safety.rules
        self._hidden = tuple(path.resolve() for path in hidden)
        self._copies = copies.resolve()

    def handlers(self) -> list[Handler]:
        return [
            FilesList.handled_by(self._list),
            FilesRead.handled_by(self._read),
            FilesWrite.handled_by(self._write),
        ]

    async def _list(self, connection: Connection, op: FilesList) -> FileEntries:
        workspace = await self._workspace(op)
        if op.changed:
            return await self._changed(workspace, op.path)
        if op.below or op.query:
            return await asyncio.to_thread(self._below, workspace, op.path, op.query.casefold())
        return await asyncio.to_thread(self._entries, workspace, op.path)

    async def _read(self, connection: Connection, op: FilesRead) -> FileContent:
        workspace = await self._workspace(op)
        await self._judge(connection, op, workspace, "read")
        if op.start is not None:
            return await asyncio.to_thread(self._piece, workspace, op.path, op.start)
        return await asyncio.to_thread(self._content, workspace, op.path, picture=op.picture)

    async def _write(self, connection: Connection, op: FilesWrite) -> FileWritten:
        workspace = await self._workspace(op)
        await self._judge(connection, op, workspace, "write")
        written = await asyncio.to_thread(self._replace, workspace, op)
        row = entry("file_written", written.path, bytes=written.size, copy=op.copy)
        if op.session:
            (await self._manager.get(op.session)).post(audit=[row])
        else:
            await self._manager.runtime.store.commit(Batch("", audit=[row]))
        return written

    async def _workspace(self, op: FilesList | FilesRead | FilesWrite) -> Path:
        if op.session:
            return (await self._manager.get(op.session)).workspace
        if isinstance(op, FilesList) and op.cwd:
            return Path(op.cwd)
        for copy in await self._workspaces.copies(None) if op.copy else ():
            if op.copy in (copy.id, copy.name):
                return Path(copy.path)
        raise OpenAgentError("not_found", f"There is no workspace {op.copy!r}.", hint="Name a session or a copy.")

    async def _judge(self, connection: Connection, op: FilesRead | FilesWrite, workspace: Path, effect: Effect) -> None:
        """In the mode of the session whose files they are, and in none that this client could not give it."""
        path, origin = op.path, self._workspaces.origin_of(workspace)
        most = connection.most(workspace)
        mode = (await self._manager.get(op.session)).info.settings.mode if op.session else "edits"
        facts = CallFacts(_TOOLS[effect], effect, path, str(workspace), {"path": path})
        decision = decide(facts, strictest(mode, most), self._rules.holding(origin).rules)
        if decision.kind == "deny" or (decision.kind == "ask" and not connection.caller.may("approve")):
            raise OpenAgentError("permission_denied", f"{path}: {decision.reason}", hint=f"Rule {decision.rule}.")

    def _entries(self, workspace: Path, path: str) -> FileEntries:
        with Root(workspace) as root:
            fd = open_directory(root, path)
            real = root.real(fd)
        try:
            self._refuse_hidden(workspace, real)
            prefix = "" if real == "." else f"{real}/"
            names = [name for name in os.listdir(fd) if not self._is_hidden(workspace, f"{prefix}{name}")]
            entries = sorted(
                (_entry(fd, prefix, name) for name in names[:MOST_ENTRIES]),
                key=lambda found: (found.kind != "directory", found.name.casefold(), found.name),
            )
        finally:
            os.close(fd)
        return FileEntries(real, entries, max(len(names) - MOST_ENTRIES, 0))

    async def _changed(self, workspace: Path, path: str) -> FileEntries:
        real = await asyncio.to_thread(self._directory, workspace, path)
        prefix = "" if real == "." else f"{real}/"
        found = [
            FileEntry(named.rpartition("/")[2], named, "file", mark=mark)
            for named, mark in await git_marks(self._manager.runtime.jail, workspace)
            if named.startswith(prefix) and not self._is_hidden(workspace, named)
        ]
        return FileEntries(real, found[:MOST_ENTRIES], max(len(found) - MOST_ENTRIES, 0))

    def _directory(self, workspace: Path, path: str) -> str:
        with Root(workspace) as root:
            fd = open_directory(root, path)
            real = root.real(fd)
            os.close(fd)
        self._refuse_hidden(workspace, real)
        return real

    def _below(self, workspace: Path, path: str, letters: str) -> FileEntries:
        real = self._directory(workspace, path)
        prefix = "" if real == "." else f"{real}/"
        inside = any(hidden.is_relative_to(workspace.resolve()) for hidden in self._hidden)
        found = (
            FileEntry(each.path.rpartition("/")[2], each.path, "file", each.stamp.size, each.stamp.modified_ns / 1e9)
            for each in walk(workspace, self._copies)
            if each.path.startswith(prefix)
            and (not letters or _has(each.path.casefold(), letters))
            and not (inside and self._is_hidden(workspace, each.path))
        )
        entries = list(islice(found, MOST_ENTRIES))
        return FileEntries(real, entries, sum(1 for _ in islice(found, MOST_ENTRIES)))

    @contextmanager
    def _opened(self, workspace: Path, path: str) -> Generator[tuple[Opened, BinaryIO]]:
        with Root(workspace) as root:
            opened = open_file(root, path)
        with os.fdopen(opened.fd, "rb") as file:
            self._refuse_hidden(workspace, opened.real)
            yield opened, file

    def _piece(self, workspace: Path, path: str, start: int) -> FileContent:
        with self._opened(workspace, path) as (opened, file):
            stamp = stamp_of(os.fstat(file.fileno()))
            file.seek(start)
            data = base64.b64encode(file.read(PIECE)).decode()
        return FileContent(opened.real, stamp.size, _version(repr(stamp).encode()), binary=True, data=data)

    def _content(self, workspace: Path, path: str, *, picture: bool) -> FileContent:
        with self._opened(workspace, path) as (opened, file):
            if opened.size > WHOLE_FILE:
                raise OpenAgentError(
                    "invalid_argument",
                    f"{path} has {opened.size} bytes, too many to be shown.",
                    hint="Download it, or use a terminal.",
                )
            content = file.read(WHOLE_FILE + 1)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = None
        if text is None or "\0" in text:
            kind = image_type(content) or ""
            data = base64.b64encode(content).decode() if picture and kind else ""
            return FileContent(opened.real, len(content), _version(content), binary=True, media_type=kind, data=data)
        return FileContent(opened.real, len(content), _version(content), text)

    def _replace(self, workspace: Path, op: FilesWrite) -> FileWritten:
        data = op.text.encode()
        if len(data) > WHOLE_FILE:
            raise OpenAgentError("invalid_argument", f"A file of {len(data)} bytes is too large to be written here.")
        with Root(workspace) as root:
            before = self._before(root, workspace, op)
            hand = _Hand(self._manager.runtime.scratch / (op.session or op.copy), Seen())
            carry_out(cast("ToolContext", hand), root, [Change(op.path, before, data)])
            return FileWritten(root.relative(op.path), len(data), _version(data))

    def _before(self, root: Root, workspace: Path, op: FilesWrite) -> Stamp | None:
        self._refuse_hidden(workspace, root.relative(op.path))
        try:
            root.stat(op.path)
        except FileNotFoundError:
            if op.version:
                raise _changed(op.path) from None
            return None
        except OSError as problem:
            raise OpenAgentError("invalid_argument", f"{op.path} cannot be used: {problem.strerror}.") from None
        opened = open_file(root, op.path)
        with os.fdopen(opened.fd, "rb") as file:
            self._refuse_hidden(workspace, opened.real)
            if op.version is not None and _version(file.read(WHOLE_FILE + 1)) != op.version:
                raise _changed(op.path)
            return stamp_of(os.fstat(file.fileno()))

    def _refuse_hidden(self, workspace: Path, real: str) -> None:
        if self._is_hidden(workspace, real):
            raise OpenAgentError("permission_denied", f"{real} is the daemon's own and not shown here.")

    def _is_hidden(self, workspace: Path, real: str) -> bool:
        path = Path(os.path.normpath(workspace.resolve() / real))
        if path.is_relative_to(self._copies) and path != self._copies:
            return False
        return any(path.is_relative_to(hidden) for hidden in self._hidden)


def _entry(directory: int, prefix: str, name: str) -> FileEntry:
    shown = name.encode(errors="surrogateescape").decode(errors="replace")
    path = f"{prefix}{shown}"
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return FileEntry(shown, path, "other")
    kind: FileKind = "other"
    if stat.S_ISDIR(status.st_mode):
        kind = "directory"
    elif stat.S_ISLNK(status.st_mode):
        kind = "link"
    elif stat.S_ISREG(status.st_mode):
        kind = "file"
    return FileEntry(shown, path, kind, status.st_size if kind == "file" else 0, status.st_mtime)


def _has(path: str, letters: str) -> bool:
    at = 0
    for letter in letters:
        at = path.find(letter, at) + 1
        if not at:
            return False
    return True


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _changed(path: str) -> OpenAgentError:
    return OpenAgentError(
        "conflict", f"{path} is not as it was when it was read. Nothing was written.", hint="Read it again."
    )
