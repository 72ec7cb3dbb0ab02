"""Starting a daemon in the background. Standard library only: this is on the path of `openagent run`."""

import os
import sys

READY_FD = "OPENAGENT_READY_FD"


class DaemonDidNotStart(Exception):
    """Its text is what the daemon said."""


def _program() -> list[str]:
    """What runs a daemon. The standalone client holds none, and starts the one that is installed beside it."""
    if not getattr(sys, "frozen", False):
        return [sys.executable, "-m", "openagent"]
    own = os.path.realpath(sys.executable)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        candidate = os.path.join(folder, "openagent")
        if os.access(candidate, os.X_OK) and os.path.realpath(candidate) != own:
            return [candidate]
    raise DaemonDidNotStart(
        "This is the client alone, and there is no `openagent` with a daemon on PATH. Install one with `pip install "
        "openagent`, or name a daemon that runs elsewhere with --connect."
    )


def start_daemon(arguments: tuple[str, ...] = ()) -> None:
    """Returns when the daemon accepts connections, or raises with its own words on why it cannot."""
    import subprocess

    program = _program()
    reading, writing = os.pipe()
    environment = {**os.environ, READY_FD: str(writing)}
    subprocess.Popen(
        [*program, "serve", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[writing],
        env=environment,
        start_new_session=True,
        cwd="/",
    )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    if said != "ok":
        raise DaemonDidNotStart(said or "The daemon ended before it was ready; its log says why.")
