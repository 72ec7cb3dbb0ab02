"""One daemon per data home: the lock, the PID file, and how a starting daemon tells its parent how it went."""

import os
import stat
from pathlib import Path

from openagent.filesystem.locks import HeldElsewhereError, holder, take
from openagent.protocol.errors import OpenAgentError

READY_FD = "OPENAGENT_READY_FD"
"""Names the pipe on which a daemon started in the background says `ok`, or why it could not start."""


def _shut_out_others(home: Path) -> None:
    """What sessions said and did is in there. A folder that is more than a data home is left as it is."""
    status = home.stat()
    shared = status.st_mode & stat.S_ISVTX or home.resolve() in (Path("/"), Path.home())
    if status.st_mode & 0o077 and status.st_uid == os.geteuid() and not shared:
        home.chmod(stat.S_IMODE(status.st_mode) & 0o700)


class HomeLock:
    """Held for as long as the daemon lives: of two that are started at once, one gets the home, and the other neither
    writes into its database nor replaces its socket. The kernel releases it with the process, so it cannot go stale;
    a PID file or socket that a killed daemon left behind is simply replaced."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = home / "daemon.lock"
        self._pid_file = home / "daemon.pid"
        self._descriptor = -1

    def acquire(self) -> None:
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            _shut_out_others(self._home)
            self._descriptor = take(self._file)
            self._pid_file.write_text(f"{os.getpid()}\n")
        except HeldElsewhereError:
            raise OpenAgentError(
                "conflict",
                f"A daemon is already running for {self._home} (pid {running_pid(self._home) or 'unknown'}).",
                hint="Use it, end it with `openagent stop`, or set OPENAGENT_HOME to another directory.",
            ) from None
        except OSError as problem:
            raise unusable_home(self._home, problem) from None

    def release(self) -> None:
        self._pid_file.unlink(missing_ok=True)
        os.close(self._descriptor)


def unusable_home(home: Path, problem: OSError) -> OpenAgentError:
    what = "a file is in the way" if isinstance(problem, FileExistsError) else problem.strerror
    return OpenAgentError(
        "config_error",
        f"The data home {home} cannot be used: {what}"
        + (f" ({problem.filename})." if problem.filename and str(problem.filename) != str(home) else "."),
        hint="Set OPENAGENT_HOME to a folder that you can write to.",
    )


def running_pid(home: Path) -> int | None:
    """The daemon's pid, or None when none runs, whatever the PID file says."""
    return holder(home / "daemon.lock", home / "daemon.pid")


def report_ready(problem: str = "") -> None:
    """Tell whoever started this daemon; does nothing for one started by hand."""
    if descriptor := os.environ.pop(READY_FD, ""):
        with os.fdopen(int(descriptor), "w") as pipe:
            pipe.write(problem or "ok")
