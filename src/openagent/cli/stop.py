"""`openagent stop`"""

import os
import signal
from contextlib import closing

from openagent.cli.command import as_json, command, complete, daemon, print_json, say
from openagent.cli.process import Process, daemon_pid
from openagent.client import elsewhere
from openagent.protocol.daemon import DaemonStop
from openagent.protocol.errors import OpenAgentError

STOP_SECONDS = 60.0
"""On the slowest machine: a daemon gives its turns ten of them."""


@command("stop", "openagent stop")
@as_json
def stop(as_json: bool) -> int:
    """End the daemon and wait until it has gone. Running turns are cancelled and saved."""
    return stop_daemon("", as_json)


def stop_daemon(socket: str, as_json: bool) -> int:
    pid = end_daemon(socket)
    if as_json:
        print_json({"stopped": pid is not None, "pid": pid})
    else:
        say("No daemon was running." if pid is None else f"The daemon (pid {pid}) has stopped.")
    return 0


def end_daemon(socket: str = "") -> int | None:
    """The pid of the one that was ended; None when none was running."""
    if (url := elsewhere.wanted(os.environ)) and not socket:
        raise OpenAgentError(
            "invalid_argument", f"The daemon at {url} is another machine's.", hint="Run `openagent stop` there."
        )
    try:
        process = complete(_ask_to_stop(socket))
    except OpenAgentError as problem:
        process = _terminate(problem)
    except ProcessLookupError:
        process = None
    if process is None:
        return None
    with closing(process):
        if not process.wait(STOP_SECONDS):
            raise OpenAgentError(
                "busy",
                f"The daemon (pid {process.pid}) did not end within {STOP_SECONDS:.0f} s.",
                hint=f"`kill -9 {process.pid}` ends it; what was stored stays.",
            )
    return process.pid


async def _ask_to_stop(socket: str) -> Process:
    async with daemon(auto_start=False, socket=socket) as client:
        assert client.welcome is not None
        process = Process(client.welcome.pid)
        await client.request(DaemonStop(id=client.next_id()))
        return process


def _terminate(problem: OpenAgentError) -> Process | None:
    """One that does not answer, or listens elsewhere, still hears a signal."""
    pid = daemon_pid()
    if pid is None:
        if problem.info.code == "not_found":
            return None
        raise problem
    process = Process(pid)
    os.kill(pid, signal.SIGTERM)
    return process
