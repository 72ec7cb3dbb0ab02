"""What a path was before and after: the smallest thing undo is made of."""

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from openagent.workspace.tree import LINK, FileEntry, Folder, join


class State(Struct, frozen=True, array_like=True):
    kind: Literal["file", "link", "folder"]
    mode: int
    oid: bytes = b""
    """The content; a link's is where it leads, a folder has none."""


class Change(Struct, frozen=True, array_like=True):
    path: bytes
    before: State | None
    """None: there was nothing."""
    after: State | None


def state_at(root: Folder, path: bytes) -> State | None:
    *parents, name = path.split(b"/")
    folder: Folder | None = root
    for parent in parents:
        folder = folder.folders.get(parent) if folder else None
    if folder is None:
        return None
    if entry := folder.files.get(name):
        return _of_file(entry)
    below = folder.folders.get(name)
    return State("folder", below.mode) if below else None


def compare(old: Folder, new: Folder, path: bytes = b"") -> Iterator[Change]:
    """Folders that are the same object are the same."""
    if old is new:
        return
    for name, entry in old.files.items():
        now = new.files.get(name)
        if now is None:
            at = State("folder", new.folders[name].mode) if name in new.folders else None
            yield Change(join(path, name), _of_file(entry), at)
        elif now is not entry and not now.same(entry):
            yield Change(join(path, name), _of_file(entry), _of_file(now))
    for name, entry in new.files.items():
        if name not in old.files and name not in old.folders:
            yield Change(join(path, name), None, _of_file(entry))
    for name, below in old.folders.items():
        where = join(path, name)
        now = new.folders.get(name)
        if now is None:
            replaced = new.files.get(name)
            yield Change(where, State("folder", below.mode), _of_file(replaced) if replaced else None)
            yield from compare(below, _NOTHING, where)
        elif now is not below:
            if now.mode != below.mode:
                yield Change(where, State("folder", below.mode), State("folder", now.mode))
            yield from compare(below, now, where)
    for name, now in new.folders.items():
        if name not in old.folders:
            where = join(path, name)
            if name not in old.files:
                yield Change(where, None, State("folder", now.mode))
            yield from compare(_NOTHING, now, where)


_NOTHING = Folder(0, {}, {})


def _of_file(entry: FileEntry) -> State:
    return State("link" if entry.is_link else "file", entry.mode, entry.oid)


class Draft:
    """A folder to be changed without touching the one it was made from; what is not changed is shared."""

    def __init__(self, root: Folder) -> None:
        self.root = _copy(root)
        self._own = {id(self.root)}

    def folder(self, path: bytes, *, make: bool = False) -> Folder | None:
        at = self.root
        for name in path.split(b"/") if path else ():
            below = at.folders.get(name)
            if below is None:
                if not make:
                    return None
                at.files.pop(name, None)
                below = Folder(0o755, {}, {})
            elif id(below) not in self._own:
                below = _copy(below)
            self._own.add(id(below))
            at.folders[name] = at = below
        return at

    def put_folder(self, path: bytes, folder: Folder | None) -> None:
        parent, _, name = path.rpartition(b"/")
        at = self.folder(parent, make=folder is not None)
        if at is None:
            return
        at.folders.pop(name, None)
        if folder is not None:
            at.files.pop(name, None)
            at.folders[name] = folder

    def put(self, path: bytes, state: State | None) -> None:
        parent, _, name = path.rpartition(b"/")
        at = self.folder(parent, make=state is not None)
        if at is None:
            return
        if state is not None and state.kind == "folder":
            at.files.pop(name, None)
            below = self.folder(path, make=True)
            if below is not None:
                below.mode = state.mode
            return
        at.folders.pop(name, None)
        at.files.pop(name, None)
        if state is not None:
            at.files[name] = FileEntry(LINK if state.kind == "link" else state.mode, state.oid)


def _copy(folder: Folder) -> Folder:
    return Folder(folder.mode, dict(folder.files), dict(folder.folders))


def inside(path: bytes, folders: Iterable[bytes]) -> bool:
    """Whether it is one of them, or lies in one."""
    return any(path == folder or path.startswith(folder + b"/") for folder in folders)


def topmost(paths: Iterable[bytes]) -> list[bytes]:
    known = set(paths)
    return sorted(path for path in known if not any(parent in known for parent in parents(path)))


def parents(path: bytes) -> list[bytes]:
    """Outermost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]
