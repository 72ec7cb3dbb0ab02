"""Mounts for bubblewrap, held by descriptors: what was looked at is what is mounted.

A path is looked up anew whenever it is used, and between the look at a folder and its mount somebody may put a link in
its place. So each is opened first, without following links, and it is the opened folder that is looked at and mounted.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from openagent.jail.git_walls import Wall
from openagent.jail.shell_enclosure import unreadable_file
from openagent.protocol.errors import OpenAgentError


def knows_descriptors(bwrap: str) -> bool:
    """Whether it can mount what is open: its options are among its own words, and to ask it takes a process."""
    try:
        return b"--ro-bind-fd" in Path(bwrap).read_bytes()
    except OSError:
        return False


def mounts_of(walls: Sequence[Wall], *, by_descriptor: bool) -> tuple[list[str], list[int]]:
    """What bubblewrap is told, and the descriptors it needs for that."""
    arguments: list[str] = []
    descriptors: list[int] = []
    try:
        for wall in walls:
            path = str(wall.path)
            if wall.unreadable:
                arguments += ["--ro-bind", str(unreadable_file()), path]
            elif not wall.emptied:
                source, kind = wall.source or wall.path, "--bind" if wall.writable else "--ro-bind"
                descriptor = _opened(source)
                if by_descriptor:
                    descriptors.append(descriptor)
                    arguments += [f"{kind}-fd", str(descriptor), path]
                else:  # one that bubblewrap knows nothing of would be open in the jail
                    os.close(descriptor)
                    arguments += [kind, str(source), path]
            elif wall.path.is_dir():
                arguments += ["--tmpfs", path, "--remount-ro", path]
            else:
                arguments += ["--ro-bind", "/dev/null", path]
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return arguments, descriptors


def _opened(path: Path) -> int:
    """Raises where a link is in its place, or in that of a folder above it."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as problem:
        raise _changed(path, problem.strerror or "it cannot be opened") from problem
    found = os.readlink(f"/proc/self/fd/{descriptor}")
    if stat.S_ISLNK(os.fstat(descriptor).st_mode) or found != str(path):
        os.close(descriptor)
        raise _changed(path, "it is a link" if found == str(path) else f"it leads to {found}")
    return descriptor


def _changed(path: Path, why: str) -> OpenAgentError:
    return OpenAgentError(
        "jail_error",
        f"{path} is not what it was when the jail was to be opened for it: {why}.",
        hint="Nothing was run. Look what took its place; then try again.",
    )
