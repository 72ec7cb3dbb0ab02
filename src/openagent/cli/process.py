"""The daemon as a process: which one it is, and waiting for its end."""

import os
import select
from pathlib import Path

from openagent.filesystem.locks import holder
from openagent.protocol import locations


def daemon_pid() -> int | None:
    """The pid of the daemon that holds the data home; None when none does, whatever its PID file says."""
    home = Path(locations.data_home(os.environ))
    return holder(home / "daemon.lock", home / "daemon.pid")


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
