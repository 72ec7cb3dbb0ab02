"""Lock files: one holder at a time, across processes and threads.

The kernel takes a lock back when its holder ends, however it ends, so none can go stale.
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager

_POLL = 0.01


class HeldElsewhereError(Exception):
    """Somebody else has the lock."""


def take(path: str | os.PathLike[str], *, seconds: float = 0.0) -> int:
    """A descriptor; closing it gives the lock back. Raises HeldElsewhereError when it is not free within so long.

    Asked again and again, for a flock that waits cannot be given up on after a while."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise HeldElsewhereError(os.fspath(path)) from None
                time.sleep(_POLL)
    except BaseException:
        os.close(descriptor)
        raise


@contextmanager
def holding(path: str | os.PathLike[str], *, seconds: float, otherwise: Exception) -> Generator[None]:
    """Raises `otherwise` when the lock is not free within so long."""
    try:
        descriptor = take(path, seconds=seconds)
    except HeldElsewhereError:
        raise otherwise from None
    try:
        yield
    finally:
        os.close(descriptor)


def holder(path: str | os.PathLike[str], pid_file: str | os.PathLike[str]) -> int | None:
    """The process that has the lock, as its PID file says; None when nobody has it, whatever the file says."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Shared, so that several who look at the same moment do not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            with open(pid_file) as file:
                return int(file.read())
        except (OSError, ValueError):
            return None
    finally:
        os.close(descriptor)
    return None
