"""Making a folder what a manifest says, and nothing else in it.

Nothing is overwritten or removed that the manifest of the present state does not have: what could not be saved first,
or changed since, stays as it is and is reported.
"""

import errno
import os
import stat
from contextlib import suppress

from openagent.filesystem.beneath import (
    make_folder,
    make_writable,
    opened_folder,
    put_file,
    put_link,
    set_mode,
    status_of,
)
from openagent.workspace.git import BlobReader
from openagent.workspace.tree import FileEntry, Folder, Manifest, empty_folder, join

_SMALL = 32 << 10
_NO_SETUID = 0o1777
"""A restored program must not gain rights its maker could not have given it."""

CHANGED_MEANWHILE = "changed meanwhile"
NOT_SAVED = "could not be saved first"
NOT_KNOWN = "not part of the checkpoint"


class Apply:
    def __init__(
        self,
        reader: BlobReader,
        present: Manifest,
        target: Manifest,
        debris: bytes,
    ) -> None:
        self._reader = reader
        self._present = present.root
        self._target = target.root
        self._unsaved = {path for path, _ in present.left_out}
        self._unknown = {path for path, _ in target.left_out}
        self._debris = debris
        self._count = 0
        self.written: list[bytes] = []
        self.removed: list[bytes] = []
        self.kept: list[tuple[bytes, str]] = []

    def run(self, root: int) -> None:
        self._folder(root, b"", self._present, self._target)

    def _folder(self, at: int, path: bytes, present: Folder, target: Folder) -> None:
        if present is not target and not (
            present.tree and present.tree == target.tree and _same_modes(present, target)
        ):
            make_writable(at)
            self._remove_others(at, path, present, target)
            self._prefetch(present, target)
            for name, entry in target.files.items():
                self._file(at, path, name, present, entry)
            for name, below in target.folders.items():
                self._subfolder(at, path, name, present.folders.get(name), below)
        if stat.S_IMODE(os.fstat(at).st_mode) != target.mode:
            os.fchmod(at, target.mode)
            if path and present.mode != target.mode:
                self.written.append(path)

    def _prefetch(self, present: Folder, target: Folder) -> None:
        wanted = {
            entry.oid.hex()
            for name, entry in target.files.items()
            if entry.size <= _SMALL and not ((known := present.files.get(name)) and known.oid == entry.oid)
        }
        if len(wanted) > 1:
            self._reader.prefetch(sorted(wanted))

    def _remove_others(self, at: int, path: bytes, present: Folder, target: Folder) -> None:
        for name, entry in present.files.items():
            if name not in target.files and not self._is_unknown(join(path, name)):
                self._unlink(at, path, name, entry)
        for name, folder in present.folders.items():
            if name not in target.folders and not self._is_unknown(join(path, name)):
                self._remove_folder(at, path, name, folder)

    def _is_unknown(self, path: bytes) -> bool:
        if path in self._unknown:
            self.kept.append((path, NOT_KNOWN))
        return path in self._unknown

    def _unlink(self, at: int, path: bytes, name: bytes, entry: FileEntry) -> bool:
        status = status_of(at, name)
        if status is None:
            return True
        if not _is_as_seen(status, entry):
            self.kept.append((join(path, name), CHANGED_MEANWHILE))
            return False
        os.unlink(name, dir_fd=at)
        self.removed.append(join(path, name))
        return True

    def _remove_folder(self, at: int, path: bytes, name: bytes, folder: Folder) -> bool:
        where = join(path, name)
        try:
            with opened_folder(at, name) as inside:
                make_writable(inside)
                for below, entry in folder.files.items():
                    self._unlink(inside, where, below, entry)
                for below, subfolder in folder.folders.items():
                    self._remove_folder(inside, where, below, subfolder)
                leftovers = [os.fsencode(left) for left in os.listdir(inside)]
                unsaved = [left for left in leftovers if left not in folder.files and left not in folder.folders]
                self.kept += [(join(where, left), NOT_SAVED) for left in unsaved]
            if leftovers:
                with suppress(FileNotFoundError):
                    set_mode(at, name, folder.mode)
                return False
            os.rmdir(name, dir_fd=at)
        except OSError as problem:
            if problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENOTEMPTY):
                raise
            if problem.errno != errno.ENOENT:
                self.kept.append((where, CHANGED_MEANWHILE))
                return False
        self.removed.append(where)
        return True

    def _file(self, at: int, path: bytes, name: bytes, present: Folder, entry: FileEntry) -> None:
        where = join(path, name)
        known = present.files.get(name)
        if known and known.same(entry):
            return
        if not self._make_way(at, path, name, present):
            return
        if known and known.oid == entry.oid and not entry.is_link and not known.is_link:
            set_mode(at, name, entry.mode & _NO_SETUID)
        elif entry.is_link:
            put_link(at, name, self._temporary(), self._reader.read(entry.oid.hex()))
        else:
            chunks = self._reader.chunks(entry.oid.hex())
            put_file(at, name, self._temporary(), chunks, entry.mode & _NO_SETUID)
        self.written.append(where)

    def _make_way(self, at: int, path: bytes, name: bytes, present: Folder) -> bool:
        """Whether what is at this name now may go."""
        where = join(path, name)
        if where in self._unsaved:
            self.kept.append((where, NOT_SAVED))
            return False
        status = status_of(at, name)
        known = present.files.get(name)
        if status is None or (known and _is_as_seen(status, known)):
            return True
        self.kept.append((where, CHANGED_MEANWHILE))
        return False

    def _subfolder(self, at: int, path: bytes, name: bytes, present: Folder | None, target: Folder) -> None:
        where = join(path, name)
        if where in self._unsaved:
            self.kept.append((where, NOT_SAVED))
            return
        status = status_of(at, name)
        if status is None:
            make_folder(at, name)
            self.written.append(where)
        elif not stat.S_ISDIR(status.st_mode):
            self.kept.append((where, CHANGED_MEANWHILE))
            return
        with opened_folder(at, name) as inside:
            self._folder(inside, where, present or empty_folder(), target)

    def _temporary(self) -> bytes:
        self._count += 1
        return b"%b%d" % (self._debris, self._count)


def _is_as_seen(status: os.stat_result, entry: FileEntry) -> bool:
    """Not the change time: removing another name of a linked file moves it."""
    return (
        stat.S_ISLNK(status.st_mode) == entry.is_link
        and status.st_ino == entry.inode
        and status.st_size == entry.size
        and status.st_mtime_ns == entry.mtime
    )


def _same_modes(present: Folder, target: Folder) -> bool:
    """Of everything below; the folder's own is seen to separately."""
    return all(entry.mode == target.files[name].mode for name, entry in present.files.items()) and all(
        below.mode == target.folders[name].mode and _same_modes(below, target.folders[name])
        for name, below in present.folders.items()
    )
