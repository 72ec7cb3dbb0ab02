"""The daemon as a process: which one it is, and waiting for its end."""

import contextlib
import os
import select
import time
from pathlib import Path

from openagent.filesystem.locks import holder
from openagent.protocol import locations


def daemon_pid() -> int | None:
    """The pid of the daemon that holds the data home; None when none does, whatever its PID file says."""
    home = Path(locations.data_home(os.environ))
    return holder(home / "daemon.lock", home / "daemon.pid")


_LOOK_AGAIN = 0.02


class Process:
    """Held by its file descriptor, so that a pid that is given away anew cannot be mistaken for it. Where there are no
    such descriptors its pid is looked for again and again."""

    def __init__(self, pid: int) -> None:
        """Raises ProcessLookupError when it has gone already."""
        self.pid = pid
        self._descriptor: int | None = None
        if hasattr(os, "pidfd_open"):
            self._descriptor = os.pidfd_open(pid)
        else:
            os.kill(pid, 0)

    def wait(self, seconds: float) -> bool:
        """True when it has ended."""
        if self._descriptor is not None:
            return bool(select.select([self._descriptor], [], [], seconds)[0])
        deadline = time.monotonic() + seconds
        while not (ended := _has_ended(self.pid)) and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
        return ended

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _has_ended(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):  # somebody else's child
        os.waitpid(pid, os.WNOHANG)  # ours would stay until somebody asks for it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
