"""Bringing a copy's changes back: three-way, path by path, against what the copy started from.

A change made on one side only is taken. Text changed on both sides is merged by git where the changes do not touch.
Everything else is a conflict: the origin keeps its version, the copy its own, and both are reported.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from openagent.workspace.git import BlobReader, run_git
from openagent.workspace.objects import Objects
from openagent.workspace.tree import LINK, FileEntry, Folder, Manifest, join

T = TypeVar("T")

CONTENT = "changed differently on both sides"
REMOVED = "changed on one side, removed on the other"
PERMISSIONS = "permissions changed differently on both sides"
STRUCTURE = "a folder on one side, something else on the other"
UNSAVED = "cannot be compared: one side could not be read"


class Node(NamedTuple):
    kind: Literal["file", "link", "folder"]
    mode: int
    oid: bytes
    seen: FileEntry | None = None
    """As it was read; two nodes are compared without it."""

    @property
    def value(self) -> tuple[str, int, bytes]:
        return self.kind, self.mode, self.oid


Nodes = dict[bytes, Node]
MergeText = Callable[[bytes, bytes, bytes], bytes | None]
"""Objects of base, origin and copy to the merged object; None when the changes touch."""


_FOLDER = Node("folder", 0o755, b"")


class Plan(NamedTuple):
    result: Nodes
    """What the origin will be."""
    base: Nodes
    """What the next merge starts from."""
    applied: list[bytes]
    merged: list[bytes]
    conflicts: list[tuple[bytes, str]]


def nodes_of(folder: Folder, path: bytes = b"") -> Nodes:
    nodes: Nodes = {path: Node("folder", folder.mode, b"")} if path else {}
    for name, entry in folder.files.items():
        nodes[join(path, name)] = Node("link" if entry.is_link else "file", entry.mode, entry.oid, entry)
    for name, below in folder.folders.items():
        nodes.update(nodes_of(below, join(path, name)))
    return nodes


def folder_of(nodes: Nodes, mode: int) -> Folder:
    root = Folder(mode, {}, {})
    folders = {b"": root}

    def at(path: bytes) -> Folder:
        if path not in folders:
            parent, _, name = path.rpartition(b"/")
            node = nodes.get(path)
            folders[path] = at(parent).folders[name] = Folder(node.mode if node else 0o755, {}, {})
        return folders[path]

    for path, node in nodes.items():
        if node.kind == "folder":
            at(path)
            continue
        parent, _, name = path.rpartition(b"/")
        at(parent).files[name] = node.seen or FileEntry(LINK if node.kind == "link" else node.mode, node.oid)
    return root


def plan_merge(base: Manifest, origin: Manifest, copy: Manifest, merge_text: MergeText) -> Plan:
    started, ours, theirs = (nodes_of(side.root) for side in (base, origin, copy))
    hidden = {path for side in (base, origin, copy) for path, _ in side.left_out}
    plan = Plan(dict(ours), dict(started), [], [], [])
    for path in sorted(started.keys() | ours.keys() | theirs.keys()):
        _decide(plan, path, (started.get(path), ours.get(path), theirs.get(path)), hidden, merge_text)
    _keep_full_folders(plan, ours)
    _settle_structure(plan, ours, theirs)
    failed = {path for path, _ in plan.conflicts}
    for path in started.keys() | theirs.keys():
        if path not in failed and not _is_hidden(path, hidden):
            _set(plan.base, path, theirs.get(path))
    changed = [path for path in plan.applied if path not in failed]
    return plan._replace(applied=changed, merged=[path for path in plan.merged if path not in failed])


def _decide(
    plan: Plan,
    path: bytes,
    sides: tuple[Node | None, Node | None, Node | None],
    hidden: set[bytes],
    merge_text: MergeText,
) -> None:
    base, ours, theirs = sides
    if _same(theirs, base) or _same(theirs, ours):
        return
    if _is_hidden(path, hidden):
        if theirs is not None:
            plan.conflicts.append((path, UNSAVED))
        return
    if _same(ours, base):
        _set(plan.result, path, theirs)
        plan.applied.append(path)
        return
    if ours is not None and theirs is not None:
        _both(plan, path, (base, ours, theirs), merge_text)
    elif not (base and base.kind == "folder"):
        plan.conflicts.append((path, REMOVED))


def _both(plan: Plan, path: bytes, sides: tuple[Node | None, Node, Node], merge_text: MergeText) -> None:
    base, ours, theirs = sides
    mode = _pick(base.mode if base else None, ours.mode, theirs.mode)
    oid = _pick(base.oid if base else None, ours.oid, theirs.oid)
    if oid is None and base and base.kind == ours.kind == theirs.kind == "file":
        oid = merge_text(base.oid, ours.oid, theirs.oid)
    if ours.kind != theirs.kind:
        plan.conflicts.append((path, STRUCTURE))
    elif oid is None:
        plan.conflicts.append((path, CONTENT))
    elif mode is None:
        plan.conflicts.append((path, PERMISSIONS))
    else:
        plan.result[path] = Node(ours.kind, mode, oid)
        plan.merged.append(path)


def _keep_full_folders(plan: Plan, ours: Nodes) -> None:
    """A folder the copy removed stays while the origin has something else in it."""
    needed = {parent for path in plan.result for parent in _parents(path)}
    for path in needed - plan.result.keys():
        if (node := ours.get(path)) and node.kind == "folder":
            plan.result[path] = node
            if path in plan.applied:
                plan.applied.remove(path)


def _settle_structure(plan: Plan, ours: Nodes, theirs: Nodes) -> None:
    """What lies in a folder needs the folder, and nothing else can be where a folder is."""
    while True:
        taken = [path for path in (*plan.applied, *plan.merged) if not _same(plan.result.get(path), ours.get(path))]
        taken = [path for path in taken if path in plan.result]
        for path in taken:
            for parent in _parents(path):
                if parent not in plan.result:
                    plan.result[parent] = theirs[parent]
        needed = {parent for path in plan.result for parent in _parents(path)}
        blocked = [path for path in needed if plan.result.get(path, _FOLDER).kind != "folder"]
        wrong = [path for path in blocked if path in taken]
        wrong += [path for path in taken if any(parent in blocked for parent in _parents(path))]
        if not wrong:
            return
        for path in wrong:
            _give_up(plan, path, ours)


def _give_up(plan: Plan, path: bytes, ours: Nodes) -> None:
    plan.conflicts.append((path, STRUCTURE))
    _set(plan.result, path, ours.get(path))


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _is_hidden(path: bytes, hidden: set[bytes]) -> bool:
    return path in hidden or any(parent in hidden for parent in _parents(path))


def _same(one: Node | None, other: Node | None) -> bool:
    return (one and one.value) == (other and other.value)


def _set(nodes: Nodes, path: bytes, node: Node | None) -> None:
    if node is None:
        nodes.pop(path, None)
    else:
        nodes[path] = node


def _pick(base: T | None, ours: T, theirs: T) -> T | None:
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def text_merger(objects: Objects, reader: BlobReader) -> MergeText:
    def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        with tempfile.TemporaryDirectory(dir=objects.git_dir) as folder:
            paths = [Path(folder) / side for side in ("ours", "base", "theirs")]
            for path, oid in zip(paths, (ours, base, theirs), strict=True):
                path.write_bytes(reader.read(oid.hex()))
            done = run_git(objects.git_dir, ["merge-file", "-p", *map(str, paths)], accept=range(256))
        return objects.blob(done.stdout) if done.returncode == 0 else None

    return merge
