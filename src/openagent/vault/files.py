"""Private files: replaced whole, flushed to disk, readable by their owner only, one writer at a time."""

import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from openagent.protocol.errors import OpenAgentError

LOCK_TIMEOUT = 5.0
_LOCK_POLL = 0.02
_OTHERS = 0o077


def read_private(path: Path) -> bytes | None:
    """None when there is no such file. A file that others could have read or planted is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise OpenAgentError(
            "permission_denied",
            f"{path} cannot be opened: {problem.strerror}.",
            hint="It must be a plain file that belongs to you.",
        ) from None
    with os.fdopen(descriptor, "rb") as file:
        _refuse_if_exposed(path, os.fstat(descriptor))
        return file.read()


def _refuse_if_exposed(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise OpenAgentError(
            "permission_denied",
            f"{path} is not a plain file of yours, so its content cannot be trusted.",
            hint="Move it away, or give it to your user with chown.",
        )
    if mode := stat.S_IMODE(status.st_mode) & _OTHERS:
        raise OpenAgentError(
            "permission_denied",
            f"{path} is open to other users (mode {stat.S_IMODE(status.st_mode):04o}, extra bits {mode:04o}).",
            hint=f"Run `chmod 600 {path}`, and replace the keys in it if somebody else could have read them.",
        )


def write_private(path: Path, data: bytes) -> None:
    """All of it or nothing, also when the machine stops in between."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _flush_directory(path.parent)


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(path: Path, timeout: float = LOCK_TIMEOUT) -> Generator[None]:
    """Holds the lock file: against other processes and other threads alike."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(descriptor, path, timeout)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise OpenAgentError(
                    "busy",
                    f"Another process has held the vault's lock {path} for {timeout:g} seconds.",
                    hint="Try again when it is done.",
                ) from None
            time.sleep(_LOCK_POLL)
