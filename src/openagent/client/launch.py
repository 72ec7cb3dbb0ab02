"""Starting a daemon in the background. Standard library only: this is on the path of `openagent run`."""

import os
import sys

READY_FD = "OPENAGENT_READY_FD"


class DaemonDidNotStart(Exception):
    """Its text is what the daemon said."""


def start_daemon(arguments: tuple[str, ...] = ()) -> None:
    """Returns when the daemon accepts connections, or raises with its own words on why it cannot."""
    import subprocess

    reading, writing = os.pipe()
    environment = {**os.environ, READY_FD: str(writing)}
    subprocess.Popen(
        [sys.executable, "-m", "openagent", "serve", *arguments],
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
