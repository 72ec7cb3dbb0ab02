"""`openagent status`"""

import os

from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.cli.process import daemon_pid
from openagent.client import elsewhere
from openagent.client.text import duration, size
from openagent.protocol.daemon import DaemonInfo, DaemonStatus
from openagent.protocol.errors import OpenAgentError


@command("status", "openagent status", "openagent status --json | jq .pid")
@as_json
def status(as_json: bool) -> int:
    """Tell whether a daemon runs, where it listens and how it is. Exit code 1 when none runs; none is started."""
    return show_status("", as_json)


def show_status(socket: str, as_json: bool) -> int:
    try:
        info = complete(ask_status(socket))
    except OpenAgentError as problem:
        if not as_json:
            raise _with_pid(problem) from None
        told, pid = problem.info, None if elsewhere.wanted(os.environ) else daemon_pid()
        print_json({"pid": pid, "error": {"code": told.code, "message": told.message, "hint": told.hint}})
        return 1
    if as_json:
        print_json(plain(info))
    else:
        say(describe(info))
    return 0


async def ask_status(socket: str) -> DaemonInfo:
    async with daemon(auto_start=False, socket=socket) as client:
        return await client.request(DaemonStatus(id=client.next_id()))


def _with_pid(problem: OpenAgentError) -> OpenAgentError:
    """A daemon on another socket than ours holds the data home all the same."""
    if problem.info.code != "not_found" or (pid := daemon_pid()) is None:
        return problem
    return OpenAgentError(
        "not_found",
        f"A daemon runs (pid {pid}), but it does not listen where it usually does.",
        hint="Name its socket: set OPENAGENT_SOCKET to the path it was given.",
    )


def describe(info: DaemonInfo) -> str:
    web = f"{info.web_url}  (token in {info.home}/token)" if info.web_url else "off"
    waiting = f", {info.queued} messages queued" if info.queued else ""
    waiting += f", {info.waiting} in line for a turn" if info.waiting else ""
    rows = {
        "pid": str(info.pid),
        "version": f"{info.version}  (protocol {info.protocol})",
        "socket": info.socket,
        "web": web,
        "home": info.home,
        "uptime": duration(info.uptime_s * 1000),
        "sessions": f"{info.sessions}  ({info.running} running{waiting})",
        "clients": str(info.clients),
        "memory": size(info.rss_bytes),
        "jail": info.jail or "–",
        "model": info.model or "none is set up",
    }
    return "\n".join(f"{name:10}{value}" for name, value in rows.items())
