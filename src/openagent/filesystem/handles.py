"""Descriptors that stand for a place and not for what is in it, and the path such a one leads to.

Linux has them (O_PATH), and tells in /proc where a descriptor leads. Elsewhere a place is opened for reading, which
takes the right to read it, and macOS tells the path itself (F_GETPATH). Where neither is told nothing can be promised
about links, and so nothing is opened.
"""

import errno
import fcntl
import os
import sys

LINUX = sys.platform == "linux"
"""Whether numbers of Linux's own, of system calls for one, mean here what they mean there."""
HANDLE: int = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
"""Opening a pipe or a device by it neither waits nor makes it ours."""
FOLDER_HANDLE: int = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
NEEDS_NO_RIGHTS = hasattr(os, "O_PATH")
"""Whether a place can be held that may not be read."""
_GET_PATH: int | None = getattr(fcntl, "F_GETPATH", None)
_LONGEST_PATH = 1024
"""As F_GETPATH wants it."""


def path_of(fd: int) -> str:
    """Where an open file or folder is now."""
    if _GET_PATH is not None:
        return os.fsdecode(fcntl.fcntl(fd, _GET_PATH, bytes(_LONGEST_PATH)).rstrip(b"\0"))
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError:
        raise OSError(errno.ENOSYS, "this system does not tell where an open file is (is /proc mounted?)") from None


def names_fold() -> bool:
    """Whether a file system of this machine may take two spellings for one name, as those of macOS do."""
    return _GET_PATH is not None
