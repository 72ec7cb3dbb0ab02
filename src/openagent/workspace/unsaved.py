"""What undo could not bring back: files beyond the limits, and a repository's objects that have no second name."""

from collections.abc import Collection, Iterable

from openagent.workspace.scan import CHANGING, OWN_DATA, SPECIAL
from openagent.workspace.states import topmost

MOST = 64
"""Places that are told one by one. With more, the folders they are in are told instead."""
_NOTHING_LOST = (SPECIAL, CHANGING, OWN_DATA)
"""There is nothing in it to bring back, or the next look saves it, or no session reaches it."""


def unsaved(left_out: Iterable[tuple[bytes, str]], unkept: Collection[bytes]) -> dict[bytes, str]:
    """With the reason. `unkept` are folders of the repository with objects of which there is no copy."""
    lost = {path: reason for path, reason in left_out if reason not in _NOTHING_LOST}
    return lost | dict.fromkeys(unkept, "no copy of it can be kept")


def in_few_places(paths: Collection[bytes]) -> list[bytes]:
    """The same, or the folders that hold them where those are many; files of the workspace's own folder stay."""
    found = topmost(paths)
    while len(found) > MOST:
        depth = max(path.count(b"/") for path in found)
        if not depth:
            return found
        found = topmost(path.rpartition(b"/")[0] if path.count(b"/") == depth else path for path in found)
    return found
