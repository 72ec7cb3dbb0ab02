"""Leaving out what is ignored and large: dependencies and build output must not make checkpoints slow.

Git is asked what is ignored only when a workspace has outgrown the budget since it was last asked.
"""

from collections.abc import Callable

from openagent.workspace.scan import SPECIAL, Index, Limits, Scan
from openagent.workspace.tree import Folder, count_files, walk_files

_GROWTH = 1.25
OVER_BUDGET = "ignored, and over the budget for ignored files"

IgnoredPaths = Callable[[], list[bytes]]
"""Folders end with a slash."""


def fit_budget(scan: Scan, root: Folder, index: Index, limits: Limits, ignored: IgnoredPaths) -> bool:
    """Takes large ignored folders and files out of the scan, and notes them in the index. True when it looked."""
    crowded = scan.files > max(limits.ignored_files, index.settled_files * _GROWTH)
    heavy = scan.bytes > max(limits.ignored_bytes, index.settled_bytes * _GROWTH)
    if not (crowded or heavy or scan.large):
        return False
    if any(reason == SPECIAL and path.rpartition(b"/")[2] == b".gitignore" for path, reason in scan.left_out):
        return False  # git would wait for somebody to write into the pipe
    paths = ignored()
    roots = [path.rstrip(b"/") for path in paths if path.endswith(b"/")]
    for path in _large_ignored(scan.large, paths, roots):
        _leave_out(scan, root, index, path)
    if crowded or heavy:
        sized = sorted((count_files(folder), _size(folder), path) for path in roots if (folder := _folder(root, path)))
        files = bytes_ = 0
        for count, size, path in sized:
            files += count
            bytes_ += size
            if files > limits.ignored_files or bytes_ > limits.ignored_bytes:
                _leave_out(scan, root, index, path)
    index.settled_files = scan.files
    index.settled_bytes = scan.bytes
    return True


def _large_ignored(large: list[bytes], paths: list[bytes], roots: list[bytes]) -> list[bytes]:
    single = set(paths)
    return [path for path in large if path in single or any(path.startswith(root + b"/") for root in roots)]


def _leave_out(scan: Scan, root: Folder, index: Index, path: bytes) -> None:
    scan.leave_out(root, path, OVER_BUDGET)
    index.skipped[path] = OVER_BUDGET


def _folder(root: Folder, path: bytes) -> Folder | None:
    at: Folder | None = root
    for name in path.split(b"/"):
        at = at.folders.get(name) if at else None
    return at


def _size(folder: Folder) -> int:
    return sum(entry.size for _, entry in walk_files(folder))
