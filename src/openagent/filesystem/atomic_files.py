"""Replacing a file whole: whoever reads it finds the old content or the new, never half of one."""

import os
from contextlib import suppress


def replace_file(
    path: str | os.PathLike[str], data: bytes, *, mode: int = 0o600, keep_mode: bool = False, flush: bool = True
) -> None:
    """A link of that name is replaced, not followed.

    `mode` is the new file's, whatever the umask says; with `keep_mode`, a file that was there hands on its own.
    `flush=False` is for what can be made again: the change may be lost when the machine itself stops soon after."""
    place = os.fspath(path)
    if keep_mode:
        with suppress(FileNotFoundError):
            mode = os.stat(place).st_mode & 0o777
    folder = os.path.dirname(place) or "."
    # A name that nobody can foresee, and only made anew: on the way there, no link of a stranger is written through.
    temporary = os.path.join(folder, f".{os.urandom(8).hex()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, mode)
            if flush:
                file.flush()
                os.fsync(descriptor)
        os.replace(temporary, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    if flush:
        _flush_folder(folder)


def _flush_folder(folder: str) -> None:
    """The new name is the folder's content, and as much in need of the disk as the file's."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
