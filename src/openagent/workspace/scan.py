"""Reading a folder's state: stat everything, read only what changed since the last time."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.filesystem.beneath import NoRegularFileError, open_root, opened_file, opened_folder, status_of
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.objects import FileChanged, Objects
from openagent.workspace.tree import LINK, FileEntry, Folder, count_files, find, join

MAX_DEPTH = 128
_READ_ATTEMPTS = 3
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Removed since it was listed, or replaced by a file or a link."""
_SETTLED_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again under the same time stamp: it is read once more."""

SPECIAL = "neither file, folder nor link"
UNREADABLE = "not readable"
ELSEWHERE = "on another filesystem"
TOO_DEEP = "nested too deeply"
OWN_DATA = "this program's own data"
CHANGING = "changing while it was read"


class Limits(Struct, frozen=True):
    ignored_files: int = 20_000
    """When a workspace holds more files than this, ignored folders are left out, largest first."""
    ignored_bytes: int = 2 << 30
    ignored_file_bytes: int = 10 << 20
    """An ignored file larger than this is left out."""
    file_bytes: int = 1 << 30
    """Any file larger than this is left out."""
    files: int = 300_000
    """With more files than this after all that, no checkpoint is taken."""


class Index(Struct):
    """What the last scan saw, so that the next one reads only what changed."""

    root: Folder
    scanned_at: int = 0
    skipped: dict[bytes, str] = {}
    """Ignored folders and files that are over the budget: not looked into again."""
    ignore_rules: bytes = b""
    """The `.gitignore` files that decided so."""
    settled_files: int = 0
    settled_bytes: int = 0
    """How large the workspace was when that was decided."""
    left_out: list[tuple[bytes, str]] = []
    snapshot: bytes = b""
    """The object that holds all that was seen."""
    made: dict[bytes, str] = {}
    """What of `left_out` a session's own call made, so that nobody else's work is in it: the session."""


def load_index(path: Path) -> Index:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=Index)
    except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
        return Index(Folder(0, {}, {}))


def save_index(path: Path, index: Index) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, msgspec.msgpack.encode(index), flush=False)


class Scan:
    def __init__(
        self,
        root: Path,
        objects: Objects,
        index: Index,
        *,
        limits: Limits,
        own_data: Path | None = None,
        debris: bytes = b"",
        passed_over: Callable[[bytes, bytes, set[bytes]], bool] | None = None,
        on_folder: Callable[[int, bytes], None] | None = None,
    ) -> None:
        """`debris` begins the names of what a restore that was cut off left behind: such files are removed.
        `on_folder` hears of every folder before it is listed."""
        self._root = root
        self._objects = objects
        self._limits = limits
        self._passed_over = passed_over
        self._on_folder = on_folder
        self._debris = debris
        self._skipped = index.skipped
        self._settled_before = index.scanned_at - _SETTLED_NS
        self.started_at = time.time_ns()
        self._own = _identity(own_data) if own_data else None
        self._device = 0
        self._unread: list[tuple[bytes, Folder, list[bytes]]] = []
        self.left_out: list[tuple[bytes, str]] = []
        self.files = 0
        self.bytes = 0
        self.large: list[bytes] = []
        """Files above the bound for ignored ones, that are new or changed."""

    def look(self, old: Folder) -> Folder:
        """Stats everything. Entries without an object are still to be read."""
        descriptor = open_root(self._root)
        try:
            status = os.fstat(descriptor)
            self._device = status.st_dev
            return self._folder(descriptor, b"", status, old)
        finally:
            os.close(descriptor)

    def look_below(self, root: int, path: bytes, old: Folder | None) -> Folder | None:
        """The same of one folder; None when it is none, or is left out."""
        parent, _, name = path.rpartition(b"/")
        self._device = os.fstat(root).st_dev
        try:
            with opened_folder(root, parent) as descriptor:
                status = status_of(descriptor, name)
                if status is None or not stat.S_ISDIR(status.st_mode):
                    return None
                return self._subfolder(descriptor, path, status, old)
        except OSError as problem:
            if problem.errno not in (*_GONE, errno.EACCES):
                raise
            return None

    def look_again(self, root: int, path: bytes, folder: Folder, names: Iterable[bytes]) -> bool:
        """Names in a folder, whatever they were before; `folder` is changed. False when something there has several
        names, so that others may have changed with it."""
        unread: list[bytes] = []
        alone = True
        try:
            with opened_folder(root, path) as descriptor:
                for name in names:
                    status = status_of(descriptor, name)
                    known = folder.files.pop(name, None)
                    if status is None or stat.S_ISDIR(status.st_mode):
                        continue
                    alone = alone and status.st_nlink == 1
                    if entry := self._new_file(descriptor, path, name, status, known):
                        folder.files[name] = entry
                        unread.append(name)
        except OSError as problem:
            if problem.errno not in (*_GONE, errno.EACCES):
                raise
        if unread:
            self._unread.append((path, folder, unread))
        return alone

    def _folder(self, descriptor: int, path: bytes, status: os.stat_result, old: Folder | None) -> Folder:
        files: dict[bytes, FileEntry] = {}
        folders: dict[bytes, Folder] = {}
        unread: list[bytes] = []
        old_files = old.files if old else {}
        subfolders: list[tuple[bytes, os.stat_result]] = []
        settled_before = self._settled_before
        changed = old is None
        if self._on_folder:
            self._on_folder(descriptor, path)
        with os.scandir(descriptor) as entries:
            for item in entries:
                name = os.fsencode(item.name)
                try:
                    found = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                mode = found.st_mode
                if stat.S_ISDIR(mode):
                    subfolders.append((name, found))
                    continue
                known = old_files.get(name)
                if (
                    known is not None
                    and known.mtime == found.st_mtime_ns
                    and known.ctime == found.st_ctime_ns < settled_before
                    and known.inode == found.st_ino
                    and known.size == found.st_size
                    and known.oid
                ):
                    files[name] = known
                    self.bytes += known.size
                elif entry := self._new_file(descriptor, path, name, found, known):
                    files[name] = entry
                    self.bytes += entry.size
                    unread.append(name)
        names = {name for name, _ in subfolders} | files.keys() if self._passed_over else set[bytes]()
        if self._passed_over and names:
            files = {name: entry for name, entry in files.items() if not self._passed_over(path, name, names)}
            unread = [name for name in unread if name in files]
            subfolders = [item for item in subfolders if not self._passed_over(path, item[0], names)]
        self.files += len(files)
        for name, found in subfolders:
            before = old.folders.get(name) if old else None
            if below := self._subfolder(descriptor, join(path, name), found, before):
                folders[name] = below
                changed = changed or below is not before
        mode = stat.S_IMODE(status.st_mode)
        changed = changed or unread or mode != (old and old.mode) or len(files) != len(old_files)
        if old is not None and not changed and len(folders) == len(old.folders):
            return old
        fresh = Folder(mode, files, folders)
        if unread:
            self._unread.append((path, fresh, unread))
        return fresh

    def _subfolder(self, parent: int, where: bytes, status: os.stat_result, old: Folder | None) -> Folder | None:
        if where == b".git":
            return None
        if reason := self._reason_against(where, status):
            self.left_out.append((where, reason))
            return None
        try:
            with opened_folder(parent, where.rpartition(b"/")[2]) as descriptor:
                return self._folder(descriptor, where, os.fstat(descriptor), old)
        except PermissionError:
            self.left_out.append((where, UNREADABLE))
        except OSError as problem:
            if problem.errno not in _GONE:
                raise
        return None

    def _reason_against(self, where: bytes, status: os.stat_result) -> str:
        if where in self._skipped:
            return self._skipped[where]
        if status.st_dev != self._device:
            return ELSEWHERE
        if (status.st_dev, status.st_ino) == self._own:
            return OWN_DATA
        return TOO_DEEP if where.count(b"/") >= MAX_DEPTH else ""

    def _new_file(
        self, parent: int, path: bytes, name: bytes, status: os.stat_result, known: FileEntry | None
    ) -> FileEntry | None:
        if self._debris and name.startswith(self._debris):
            os.unlink(name, dir_fd=parent)
            return None
        where = join(path, name)
        if where in self._skipped:
            self.left_out.append((where, self._skipped[where]))
            return None
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            self.left_out.append((where, SPECIAL))
            return None
        if status.st_size > self._limits.file_bytes:
            self.left_out.append((where, f"larger than {self._limits.file_bytes >> 20} MB"))
            return None
        if status.st_size > self._limits.ignored_file_bytes and not (known and known.oid):
            self.large.append(where)
        return _entry(status, b"")

    @property
    def unread(self) -> int:
        return sum(len(names) for _, _, names in self._unread)

    def read(self, root: Folder, old: Folder) -> None:
        """Stores the content of everything `look` found new or changed."""
        if self.files > self._limits.files:
            raise OpenAgentError(
                "workspace_full",
                f"The workspace holds {self.files} files, more than the {self._limits.files} a checkpoint may have.",
                hint="Work in a smaller folder, or name generated folders in .gitignore.",
            )
        descriptor = open_root(self._root)
        try:
            for path, folder, names in self._unread:
                try:
                    with opened_folder(descriptor, path) as at:
                        for name in names:
                            self._read_entry(at, path, folder, name, old)
                except OSError as problem:
                    if problem.errno not in _GONE:
                        raise
                    for name in names:
                        folder.files.pop(name, None)
        finally:
            os.close(descriptor)
        _keep_trees(root, old)

    def _read_entry(self, parent: int, path: bytes, folder: Folder, name: bytes, old: Folder) -> None:
        if name not in folder.files:
            return
        where = join(path, name)
        before = find(old, where)
        try:
            folder.files[name] = self._stored(parent, name, before.oid if before else b"")
        except FileNotFoundError:
            del folder.files[name]
        except PermissionError:
            del folder.files[name]
            self.left_out.append((where, UNREADABLE))
        except FileChanged:
            del folder.files[name]
            self.left_out.append((where, CHANGING))

    def _stored(self, parent: int, name: bytes, known: bytes) -> FileEntry:
        """A file that is written all the time is stored as it was read last; the next scan reads it again."""
        torn: FileEntry | None = None
        for _ in range(_READ_ATTEMPTS):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return _entry(status, self._objects.blob(os.readlink(name, dir_fd=parent)))
            try:
                with opened_file(parent, name) as descriptor:
                    status = os.fstat(descriptor)
                    entry = _entry(status, self._objects.file(descriptor, status.st_size, known))
                    if _unchanged(status, os.fstat(descriptor)):
                        return entry
                    torn = entry
            except (FileChanged, NoRegularFileError):
                continue
            except OSError as problem:
                if problem.errno != errno.ELOOP:
                    raise
        if torn is None:
            raise FileChanged
        return torn

    def leave_out(self, root: Folder, path: bytes, reason: str) -> None:
        """Takes back what `look` found at a path."""
        *parents, name = path.split(b"/")
        folder = root
        for parent in parents:
            folder.tree = b""
            folder = folder.folders[parent]
        folder.tree = b""
        gone = folder.folders.pop(name, None)
        if gone is None:
            del folder.files[name]
        self.files -= count_files(gone) if gone else 1
        self._unread = [item for item in self._unread if item[0] != path and not item[0].startswith(path + b"/")]
        self.left_out.append((path, reason))


def ignore_rules(folder: Folder) -> bytes:
    rules = folder.files.get(b".gitignore")
    below = b"".join(ignore_rules(sub) for sub in folder.folders.values())
    return (rules.oid if rules else b"") + below


def _entry(status: os.stat_result, oid: bytes) -> FileEntry:
    mode = LINK if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
    return FileEntry(mode, oid, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _keep_trees(root: Folder, old: Folder) -> None:
    """A folder whose files were only read again, and are as before, keeps its tree."""
    if root is old or not old.tree:
        return
    for name, below in root.folders.items():
        if before := old.folders.get(name):
            _keep_trees(below, before)
    if (
        root.files.keys() == old.files.keys()
        and root.folders.keys() == old.folders.keys()
        and all(_same_in_git(entry, old.files[name]) for name, entry in root.files.items())
        and all(below.tree and below.tree == old.folders[name].tree for name, below in root.folders.items())
    ):
        root.tree = old.tree


def _same_in_git(entry: FileEntry, old: FileEntry) -> bool:
    return entry.oid == old.oid and entry.is_link == old.is_link and not (entry.mode ^ old.mode) & 0o100


def _unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    return before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size
