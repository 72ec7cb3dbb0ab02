"""A folder's state as a value: what is in it, with full modes, and the objects that hold the content."""

import stat
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from openagent.plugins.workspace import LeftOut
from openagent.workspace.git import BlobReader, run_git
from openagent.workspace.objects import Objects, TreeItem

LINK = stat.S_IFLNK


class FileEntry(Struct, array_like=True, gc=False, eq=False):
    """A regular file or a symbolic link; a link's content is where it leads."""

    mode: int
    oid: bytes
    size: int = 0
    mtime: int = 0
    ctime: int = 0
    inode: int = 0

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)

    def same(self, other: "FileEntry") -> bool:
        return self.oid == other.oid and self.mode == other.mode


class Folder(Struct, array_like=True, eq=False):
    mode: int
    files: dict[bytes, FileEntry]
    folders: dict[bytes, "Folder"]
    tree: bytes = b""
    """The object that holds all this; empty while it is not written."""


class Modes(Struct):
    """What git does not keep: full permissions, as exceptions from the most common ones."""

    file: int
    program: int
    folder: int
    exceptions: list[tuple[bytes, int]]
    left_out: list[tuple[bytes, str]]


class Manifest(NamedTuple):
    root: Folder
    left_out: list[tuple[bytes, str]]


def shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def shown_left_out(left_out: list[tuple[bytes, str]]) -> list[LeftOut]:
    return [LeftOut(shown(path), reason) for path, reason in left_out]


def empty_folder() -> Folder:
    return Folder(0o755, {}, {})


def join(path: bytes, name: bytes) -> bytes:
    return path + b"/" + name if path else name


def walk_files(folder: Folder, path: bytes = b"") -> Iterator[tuple[bytes, FileEntry]]:
    for name, entry in folder.files.items():
        yield join(path, name), entry
    for name, below in folder.folders.items():
        yield from walk_files(below, join(path, name))


def walk_folders(folder: Folder, path: bytes = b"") -> Iterator[tuple[bytes, Folder]]:
    yield path, folder
    for name, below in folder.folders.items():
        yield from walk_folders(below, join(path, name))


def find(folder: Folder, path: bytes) -> FileEntry | None:
    *parents, name = path.split(b"/")
    at: Folder | None = folder
    for parent in parents:
        at = at.folders.get(parent) if at else None
    return at.files.get(name) if at else None


def count_files(folder: Folder) -> int:
    return len(folder.files) + sum(count_files(below) for below in folder.folders.values())


def write_trees(objects: Objects, folder: Folder) -> bytes:
    """Only of the folders that changed: the others know their tree."""
    if not folder.tree:
        items: list[TreeItem] = [(_git_mode(entry.mode), name, entry.oid) for name, entry in folder.files.items()]
        items += [(b"40000", name, write_trees(objects, below)) for name, below in folder.folders.items()]
        folder.tree = objects.tree(items)
    return folder.tree


def _git_mode(mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return b"120000"
    return b"100755" if mode & 0o100 else b"100644"


def write_modes(objects: Objects, manifest: Manifest) -> bytes:
    files = [(path, entry.mode) for path, entry in walk_files(manifest.root) if not entry.is_link]
    plain = _most_common([mode for _, mode in files if not mode & 0o100], 0o644)
    program = _most_common([mode for _, mode in files if mode & 0o100], 0o755)
    folders = [(path, below.mode) for path, below in walk_folders(manifest.root)]
    usual = _most_common([mode for _, mode in folders], 0o755)
    exceptions = [(path, mode) for path, mode in files if mode != (program if mode & 0o100 else plain)]
    exceptions += [(path, mode) for path, mode in folders if mode != usual]
    modes = Modes(plain, program, usual, sorted(exceptions), sorted(manifest.left_out))
    return objects.blob(msgspec.msgpack.encode(modes))


def _most_common(modes: list[int], otherwise: int) -> int:
    """Ties are settled by value, so that the same files always give the same object."""
    counted = Counter(modes)
    return min(counted, key=lambda mode: (-counted[mode], mode)) if counted else otherwise


def read_manifest(objects: Objects, reader: BlobReader, tree: str, modes: str) -> Manifest:
    """`tree` and `modes` may be any name git understands."""
    saved = msgspec.msgpack.decode(reader.read(modes), type=Modes)
    exceptions = dict(saved.exceptions)
    root = Folder(exceptions.get(b"", saved.folder), {}, {})
    folders = {b"": root}
    listing = run_git(objects.git_dir, ["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", tree]).stdout
    for line in listing.split(b"\0")[:-1]:
        description, path = line.split(b"\t", 1)
        git_mode, _, oid, size = description.split()
        parent, _, name = path.rpartition(b"/")
        if git_mode == b"040000":
            mode = exceptions.get(path, saved.folder)
            folders[path] = folders[parent].folders[name] = Folder(mode, {}, {}, bytes.fromhex(oid.decode()))
            continue
        usual = LINK if git_mode == b"120000" else saved.program if git_mode == b"100755" else saved.file
        mode = usual if usual == LINK else exceptions.get(path, usual)
        folders[parent].files[name] = FileEntry(mode, bytes.fromhex(oid.decode()), int(size))
    write_trees(objects, root)
    return Manifest(root, saved.left_out)
