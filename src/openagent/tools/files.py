"""Reading files that a model names, and the words for what may be wrong with them."""

import errno
import os
import stat
from typing import NamedTuple

from openagent.plugins.files_read import Stamp
from openagent.protocol.errors import OpenAgentError
from openagent.tools.beneath import Root

WHOLE_FILE = 8 * 1024 * 1024
"""Files up to this size may be edited, patched and compared; that takes all of them in memory."""
_FOR_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


class Opened(NamedTuple):
    """A regular file. Whoever opened it closes `fd`."""

    fd: int
    real: str
    status: os.stat_result

    @property
    def size(self) -> int:
        return self.status.st_size

    @property
    def stamp(self) -> Stamp:
        return stamp_of(self.status)


class Loaded(NamedTuple):
    content: bytes
    real: str
    stamp: Stamp
    mode: int


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def open_file(root: Root, path: str) -> Opened:
    """Raises OpenAgentError: it is not there, no regular file, not readable, or leads out. Never blocks on a pipe."""
    try:
        fd = root.open(path, _FOR_READING)
    except OSError as problem:
        raise explained(path, problem) from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise not_a_file(path, status)
    return Opened(fd, root.real(fd), status)


def load(root: Root, path: str) -> Loaded:
    """All of a file. Raises OpenAgentError, also when it is too large for that."""
    opened = open_file(root, path)
    with os.fdopen(opened.fd, "rb") as file:
        if opened.size > WHOLE_FILE:
            raise OpenAgentError(
                "tool_error",
                f"{path} has {opened.size} bytes, too many to edit at once.",
                hint="Use the shell, for instance sed.",
            )
        return Loaded(file.read(), opened.real, opened.stamp, stat.S_IMODE(opened.status.st_mode))


def open_directory(root: Root, path: str) -> int:
    """A descriptor that can be listed."""
    try:
        return root.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise explained(path, problem) from None


def not_a_file(path: str, status: os.stat_result) -> OpenAgentError:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
    hint = "Use list_dir." if kind == "a directory" else ""
    return OpenAgentError("tool_error", f"{path} is {kind}.", hint=hint)


def explained(path: str, problem: OSError) -> OpenAgentError:
    match problem.errno:
        case errno.ENOENT:
            return OpenAgentError("not_found", f"{path} does not exist.")
        case errno.ENOTDIR:
            return OpenAgentError("tool_error", f"{path} is not a directory, or lies in something that is none.")
        case errno.ENXIO:
            return OpenAgentError("tool_error", f"{path} is a socket or a device without a reader.")
        case errno.ELOOP:
            return OpenAgentError("tool_error", f"{path} is a symbolic link that leads in a circle or just changed.")
        case _:
            return OpenAgentError("tool_error", f"{path} cannot be used: {problem.strerror or problem}.")
