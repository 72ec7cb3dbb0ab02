"""The private store of one workspace: objects, what the last scan saw, and the references that keep states alive."""

import hashlib
import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.filesystem.locks import holding
from openagent.plugins.places import still_there
from openagent.plugins.workspace import Checkpoint, CheckpointKind
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git import BlobReader, require_git
from openagent.workspace.git_state import passed_over, repository_of
from openagent.workspace.ignored import ignored_paths
from openagent.workspace.large_ignored import fit_budget
from openagent.workspace.objects import Objects, TreeItem
from openagent.workspace.scan import Index, Limits, Scan, ignore_rules, load_index, save_index
from openagent.workspace.tree import (
    Folder,
    Manifest,
    Modes,
    count_files,
    read_manifest,
    shown_left_out,
    write_modes,
    write_trees,
)

LOCK_TIMEOUT = 120.0
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_OBJECT_NAME = re.compile(r"[0-9a-f]{40}")
_FILES, _FILE_MODES = "files", "modes"
_GIT, _GIT_MODES = "repository", "repository-modes"
WORKSPACE_INDEX = "workspace"


class Snapshot(Struct):
    tree: bytes
    files: Manifest
    repository: Manifest | None


class CheckpointNote(Struct):
    """The message of a checkpoint's commit."""

    session: str
    turn: int
    at: float
    kind: CheckpointKind
    files: int
    git_state: bool


def store_directory(home: Path, workspace: Path) -> Path:
    return home / "checkpoints" / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:24]


def real_workspace(workspace: Path) -> Path:
    real = Path(os.path.realpath(workspace))
    still_there(workspace, str(real))
    if not real.is_dir():
        raise OpenAgentError(
            "not_found", f"The workspace {workspace} is not a folder.", hint="Check the path, or create the folder."
        )
    return real


class Snapshots:
    """Everything here blocks; whoever uses it holds `locked()` and runs it in a thread."""

    def __init__(self, home: Path, workspace: Path, limits: Limits) -> None:
        self._home = home
        self._limits = limits
        self.workspace = workspace
        self.directory = store_directory(home, workspace)
        self.objects = Objects(self.directory)

    @contextmanager
    def locked(self) -> Generator[None]:
        """One at a time, across threads and processes."""
        require_git()
        self.objects.prepare()
        busy = OpenAgentError(
            "busy",
            f"Another process has been saving or restoring {self.workspace} for {LOCK_TIMEOUT:g} seconds.",
            hint="Try again when it is done.",
        )
        with holding(self.directory / "lock", seconds=LOCK_TIMEOUT, otherwise=busy):
            note = self.directory / "workspace"
            if not note.exists():
                note.write_bytes(os.fsencode(self.workspace))
            yield

    def take(self, root: Path | None = None, name: str = WORKSPACE_INDEX) -> Snapshot:
        """Reads a folder into the store: the workspace itself, or a copy of it under a name of its own."""
        root = root or self.workspace
        index_path = self.directory / "indexes" / name
        index = load_index(index_path)
        scan = Scan(root, self.objects, index, limits=self._limits, own_data=self._home, debris=self.debris())
        files = scan.look(index.root)
        looked = fit_budget(scan, files, index, self._limits, lambda: ignored_paths(self.directory, root))
        with self.objects.bulk(scan.unread):
            scan.read(files, index.root)
            repository, repository_index = self._take_repository(root, name)
            manifest = Manifest(files, sorted(scan.left_out))
            same = files is index.root and manifest.left_out == index.left_out and not repository_index and not looked
            if same and index.snapshot:
                return Snapshot(index.snapshot, manifest, repository)
            tree = self.write(manifest, repository)
        rules = ignore_rules(files)
        fresh = Index(files, scan.started_at, ignore_rules=rules, left_out=manifest.left_out, snapshot=tree)
        if rules == index.ignore_rules or looked:
            fresh.skipped, fresh.settled_files, fresh.settled_bytes = (
                index.skipped,
                index.settled_files,
                index.settled_bytes,
            )
        self.point(f"indexes/{name}", tree)
        save_index(index_path, fresh)
        if repository_index:
            save_index(index_path.with_name(f"{name}.repository"), repository_index)
        return Snapshot(tree, manifest, repository)

    def _take_repository(self, root: Path, name: str) -> tuple[Manifest | None, Index | None]:
        """The index is given when it is new, to be saved once a reference keeps its objects alive."""
        repository = repository_of(root)
        index_path = self.directory / "indexes" / f"{name}.repository"
        if repository is None:
            return None, Index(Folder(0, {}, {})) if load_index(index_path).root.files else None
        index = load_index(index_path)
        scan = Scan(repository, self.objects, index, limits=self._limits, debris=self.debris(), passed_over=passed_over)
        state = scan.look(index.root)
        scan.read(state, index.root)
        write_trees(self.objects, state)
        fresh = None if state is index.root else Index(state, scan.started_at)
        return Manifest(state, sorted(scan.left_out)), fresh

    def write(self, files: Manifest, repository: Manifest | None = None) -> bytes:
        items: list[TreeItem] = [
            (b"40000", _FILES.encode(), write_trees(self.objects, files.root)),
            (b"100644", _FILE_MODES.encode(), write_modes(self.objects, files)),
        ]
        if repository:
            items += [
                (b"40000", _GIT.encode(), write_trees(self.objects, repository.root)),
                (b"100644", _GIT_MODES.encode(), write_modes(self.objects, repository)),
            ]
        return self.objects.tree(items)

    def files_of(self, reader: BlobReader, snapshot: str) -> Manifest:
        """`snapshot` is a checkpoint, or the tree of a snapshot. Raises OpenAgentError('not_found')."""
        parts = _parts(reader, snapshot)
        return read_manifest(self.objects, reader, parts[_FILES], parts[_FILE_MODES])

    def repository_of(self, reader: BlobReader, snapshot: str) -> Manifest:
        parts = _parts(reader, snapshot)
        return read_manifest(self.objects, reader, parts[_GIT], parts[_GIT_MODES])

    def files_tree(self, reader: BlobReader, snapshot: str) -> str:
        return _parts(reader, snapshot)[_FILES]

    def checkpoint(self, snapshot: Snapshot, session: str, turn: int, kind: CheckpointKind) -> Checkpoint:
        at = time.time()
        note = CheckpointNote(
            session, turn, at, kind, count_files(snapshot.files.root), snapshot.repository is not None
        )
        commit = self.objects.commit(snapshot.tree, at, msgspec.json.encode(note))
        number = max((number for number, _ in self.numbered(session)), default=0) + 1
        self.point(f"checkpoints/{safe_name(session)}/{number:08d}-{snapshot.tree.hex()}", commit)
        return _described(commit.hex(), note, snapshot.files.left_out)

    def read_checkpoint(self, reader: BlobReader, commit: str) -> Checkpoint:
        """Raises OpenAgentError('not_found')."""
        parts = _parts(reader, commit)
        message = reader.read(commit).partition(b"\n\n")[2]
        modes = msgspec.msgpack.decode(reader.read(parts[_FILE_MODES]), type=Modes)
        return _described(commit, msgspec.json.decode(message, type=CheckpointNote), modes.left_out)

    def numbered(self, session: str) -> list[tuple[int, Path]]:
        """The references of a session's checkpoints, oldest first. Their names end with the snapshot's tree."""
        try:
            names = os.listdir(self.directory / "refs" / "checkpoints" / safe_name(session))
        except FileNotFoundError:
            return []
        folder = self.directory / "refs" / "checkpoints" / session
        return sorted((int(name[:8]), folder / name) for name in names if not name.endswith(".new"))

    def last_tree(self, session: str) -> str:
        numbered = self.numbered(session)
        return numbered[-1][1].name[9:] if numbered else ""

    def point(self, reference: str, oid: bytes) -> None:
        path = self.directory / "refs" / reference
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, f"{oid.hex()}\n".encode(), flush=False)

    def drop_copy(self, copy: str) -> None:
        for name in (f"refs/copies/{copy}", f"refs/indexes/copy-{copy}", f"indexes/copy-{copy}"):
            (self.directory / name).unlink(missing_ok=True)
        (self.directory / "indexes" / f"copy-{copy}.repository").unlink(missing_ok=True)

    def begin_writing(self) -> bytes:
        """The beginning of the names of files not yet in their place; noted, for the case that we never finish."""
        debris = f".openagent-{token_hex(8)}-".encode()
        (self.directory / "writing").write_bytes(debris)
        return debris

    def end_writing(self) -> None:
        (self.directory / "writing").unlink(missing_ok=True)

    def debris(self) -> bytes:
        with suppress(FileNotFoundError):
            return (self.directory / "writing").read_bytes()
        return b""


def _parts(reader: BlobReader, snapshot: str) -> dict[str, str]:
    """Object names of a snapshot's parts."""
    if not _OBJECT_NAME.fullmatch(snapshot):
        raise OpenAgentError(
            "not_found", f"There is no checkpoint {snapshot[:120]!r}.", hint="List them, then choose one by its id."
        )
    data = reader.read(snapshot)
    if data.startswith(b"tree "):
        data = reader.read(data[5:45].decode())
    parts: dict[str, str] = {}
    while data:
        description, _, rest = data.partition(b"\0")
        parts[description.partition(b" ")[2].decode()] = rest[:20].hex()
        data = rest[20:]
    return parts


def _described(commit: str, note: CheckpointNote, left_out: list[tuple[bytes, str]]) -> Checkpoint:
    return Checkpoint(
        id=commit,
        session=note.session,
        turn=note.turn,
        at=note.at,
        kind=note.kind,
        files=note.files,
        left_out=shown_left_out(left_out),
        git_state=note.git_state,
    )


def safe_name(session: str) -> str:
    if not _SAFE_NAME.fullmatch(session) or session.endswith((".lock", ".new", ".")) or ".." in session:
        raise OpenAgentError(
            "invalid_argument",
            f"{session[:120]!r} cannot name a session or a copy.",
            hint="Use letters, digits, dots, dashes and underscores.",
        )
    return session
