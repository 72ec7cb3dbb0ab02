"""Which paths of a workspace were touched since the last time somebody asked."""

import os
from pathlib import Path

from msgspec import Struct, field

from openagent.workspace.inotify import (
    ATTRIB,
    IGNORED,
    IS_FOLDER,
    OVERFLOW,
    UNMOUNT,
    Inotify,
    Unwatchable,
)
from openagent.workspace.tree import join

MAX_FOLDERS = 20_000
_TRUSTED = ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs")
"""File systems that only this machine writes. Of the others the kernel cannot tell what was changed elsewhere."""
_REPOSITORY = b".git"


class Touched(Struct):
    everything: bool = False
    """More happened than could be told: look at it all."""
    names: dict[bytes, set[bytes]] = field(default_factory=dict[bytes, set[bytes]])
    """By folder."""
    subtrees: set[bytes] = field(default_factory=set[bytes])
    """Folders that came, went or moved."""
    modes: set[bytes] = field(default_factory=set[bytes])
    """Folders whose own permissions may be others."""
    repository: bool = False
    """Something in `.git` other than its objects."""

    def __bool__(self) -> bool:
        return bool(self.everything or self.names or self.subtrees or self.modes or self.repository)

    @property
    def size(self) -> int:
        return sum(len(names) for names in self.names.values())

    def add(self, other: "Touched") -> None:
        self.everything = self.everything or other.everything
        self.repository = self.repository or other.repository
        self.subtrees |= other.subtrees
        self.modes |= other.modes
        for folder, names in other.names.items():
            self.names.setdefault(folder, set()).update(names)


class Watch:
    """Raises Unwatchable where it cannot be relied on."""

    def __init__(self, workspace: Path) -> None:
        if (kind := filesystem_of(workspace)) not in _TRUSTED:
            raise Unwatchable(f"changes on {kind} are not told")
        self._workspace = workspace
        self._root: os.stat_result | None = None
        self._root_is_gone = False
        """A new folder may have the number of one that was deleted."""
        self._inotify = Inotify()
        self._paths: dict[int, bytes] = {}
        self._watches: dict[bytes, int] = {}

    def add(self, folder: int, path: bytes) -> None:
        """Before the folder is listed, so that nothing gets in between."""
        if len(self._watches) >= MAX_FOLDERS:
            raise Unwatchable("too many folders")
        watch = self._inotify.add(folder)
        if not path:
            self._root = os.fstat(folder)
        self._paths[watch] = path
        self._watches[path] = watch

    @property
    def is_of_another(self) -> bool:
        """Another folder stands in the workspace's place, of which nothing is told. One that is not there (any more, or
        yet) is none, and neither is what a link leads to: that is no workspace of anybody's."""
        if self._root is None:
            return False
        try:
            now = os.stat(self._workspace)
        except OSError:
            return False
        is_another = self._root_is_gone or not os.path.samestat(self._root, now)
        return is_another and os.path.realpath(self._workspace) == str(self._workspace)

    def forget(self, path: bytes) -> None:
        """A folder that is gone, with all below. One that was moved is watched under its new path, already or soon."""
        below = path + b"/"
        for gone in [known for known in self._watches if known == path or known.startswith(below)]:
            watch = self._watches.pop(gone)
            if self._paths.get(watch) == gone:
                del self._paths[watch]
                self._inotify.remove(watch)

    def drain(self) -> Touched:
        touched = Touched()
        for watch, mask, name in self._inotify.read():
            if mask & (OVERFLOW | UNMOUNT):
                touched.everything = True
            path = self._paths.get(watch)
            self._root_is_gone = self._root_is_gone or (path == b"" and bool(mask & IGNORED))
            if path is None or mask & IGNORED:
                continue
            if path == _REPOSITORY or path.startswith(b".git/"):
                touched.repository = touched.repository or not name.endswith(b".lock")
            elif not path and name == _REPOSITORY and mask & IS_FOLDER:
                touched.repository = True
            elif not name:
                touched.modes.add(path)
            elif not mask & IS_FOLDER:
                touched.names.setdefault(path, set()).add(name)
            elif mask & ATTRIB:
                touched.modes.add(join(path, name))
            else:
                touched.subtrees.add(join(path, name))
        return touched

    def close(self) -> None:
        self._inotify.close()


def filesystem_of(path: Path) -> str:
    """The kind of the innermost mount that holds it."""
    best, kind = -1, ""
    text = str(path)
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return "an unknown file system"
    for line in lines:
        fields = line.split(" ")
        mount = _unescaped(fields[4])
        if (mount in ("/", text) or text.startswith(mount + "/")) and len(mount) >= best:
            best, kind = len(mount), fields[fields.index("-") + 1]
    return kind


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
