"""The daemon as a process: which one it is, and waiting for its end."""

import fcntl
import os
import select
from pathlib import Path

from openagent.protocol import locations


def daemon_pid() -> int | None:
    """The pid of the daemon that holds the data home; None when none does, whatever its PID file says."""
    home = Path(locations.data_home(os.environ))
    try:
        descriptor = os.open(home / "daemon.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            return int((home / "daemon.pid").read_text())
        except (OSError, ValueError):
            return None
    finally:
        os.close(descriptor)
    return None


class Process:
    """Held by its file descriptor, so that a pid that is given away anew cannot be mistaken for it."""

    def __init__(self, pid: int) -> None:
        """Raises ProcessLookupError when it has gone already."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def wait(self, seconds: float) -> bool:
        """True when it has ended."""
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def close(self) -> None:
        os.close(self._descriptor)
