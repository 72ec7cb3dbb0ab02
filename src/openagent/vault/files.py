"""Private files: replaced whole, flushed to disk, readable by their owner only, one writer at a time."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from openagent.filesystem.locks import holding
from openagent.protocol.errors import OpenAgentError

LOCK_TIMEOUT = 5.0
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


@contextmanager
def exclusive(path: Path, timeout: float = LOCK_TIMEOUT) -> Generator[None]:
    """Holds the lock file: against other processes and other threads alike."""
    busy = OpenAgentError(
        "busy",
        f"Another process has held the vault's lock {path} for {timeout:g} seconds.",
        hint="Try again when it is done.",
    )
    with holding(path, seconds=timeout, otherwise=busy):
        yield
