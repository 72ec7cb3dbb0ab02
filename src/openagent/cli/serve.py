"""`openagent serve` beside its foreground form, and the help of the other commands that `__main__` dispatches."""

import os

import click

from openagent.cli.command import as_json, command, complete, plain, print_json, say
from openagent.cli.status import ask_status, describe, show_status
from openagent.cli.stop import stop_daemon
from openagent.client import elsewhere
from openagent.client.launch import DaemonDidNotStart, start_daemon
from openagent.protocol.errors import OpenAgentError


class WebSocketAddress(click.ParamType[str]):
    name = "[HOST:]PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        port = value.rpartition(":")[2]
        if not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is not [HOST:]PORT.", param, ctx)
        return value


@command(
    "serve",
    "openagent serve",
    "openagent serve --daemon --web-socket 8787",
    "openagent status",
    "openagent stop",
)
@click.option(
    "--ipc-socket",
    metavar="PATH",
    help="The unix socket; where OPENAGENT_SOCKET says, or beside the data, when left out.",
)
@click.option("--web-socket", type=WebSocketAddress(), help="Open the WebSocket too; port 0 picks a free one.")
@click.option(
    "--role",
    type=click.Choice(["all", "gateway", "worker"]),
    default="all",
    help="In a team: gateways let clients in, workers run the turns.",
)
@click.option("--daemon", "background", is_flag=True, help="Start in the background and say where.")
@click.option("--status", "ask", is_flag=True, hidden=True, help="As `openagent status`.")
@click.option("--stop", "end", is_flag=True, hidden=True, help="As `openagent stop`.")
@as_json
def serve(
    *,
    ipc_socket: str | None,
    web_socket: str | None,
    role: str,
    background: bool,
    ask: bool,
    end: bool,
    as_json: bool,
) -> int:
    """Run the daemon: here until Ctrl-C, or in the background with --daemon. Every command starts it when needed."""
    if background + ask + end != 1:
        raise click.UsageError("Give one of --daemon, --status and --stop.")
    os.environ.pop(elsewhere.CONNECT, None)  # this machine's own daemon is meant
    socket = os.path.abspath(os.path.expanduser(ipc_socket)) if ipc_socket else ""
    if ask:
        return show_status(socket, as_json)
    if end:
        return stop_daemon(socket, as_json)
    return _start(socket, web_socket, role, as_json)


def _start(socket: str, web_socket: str | None, role: str, as_json: bool) -> int:
    given = (
        *(("--ipc-socket", socket) if socket else ()),
        *(("--web-socket", web_socket) if web_socket else ()),
        *(("--role", role) if role != "all" else ()),
    )
    try:
        start_daemon(given)
    except DaemonDidNotStart as problem:
        raise OpenAgentError("config_error", str(problem)) from None
    info = complete(ask_status(socket))
    if as_json:
        print_json(plain(info))
    else:
        say(f"The daemon runs in the background.\n{describe(info)}")
    return 0


@command("acp", "openagent acp")
def acp() -> None:
    """Speak the Agent Client Protocol, one message a line, on stdin and stdout. Editors start this, not people.

    Zed, JetBrains, Neovim and Emacs: `openagent help editors` shows what to write into their settings. Sessions
    live in the daemon, so one that an editor opened can be followed with `openagent attach` and `openagent tui` too.
    """


@command(
    "rpc",
    "openagent rpc",
    """echo '{"jsonrpc":"2.0","id":1,"method":"session.list"}' | openagent rpc""",
)
def rpc() -> None:
    """Speak JSON-RPC 2.0, one message a line, on stdin and stdout.

    \b
    Methods:        chat.send  chat.cancel  permission.answer  question.answer
                    session.create  session.load  session.list  session.delete
                    tokens.get  tokens.set_budget  tools.list  tools.call
    Notifications:  response_chunk  thinking_chunk  tool_call  tool_result  token_update
                    turn_completed  permission_requested  permission_resolved
                    question_asked  retry_scheduled  error

    `openagent help programs` has their parameters and results.
    """
