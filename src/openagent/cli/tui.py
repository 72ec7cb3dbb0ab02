"""`openagent tui`: the terminal interface's entry among the commands. `__main__` opens it; this is for the help."""

import click

from openagent.cli.command import command
from openagent.cli.completion import session_argument


@command(
    "tui",
    "openagent",
    "openagent tui 06gx",
    "openagent tui --new",
    "openagent --connect ws://build-server:8080/ws --token-file ~/build-server.token",
)
@session_argument(metavar="[SESSION]", required=False)
@click.option("--new", is_flag=True, help="Start a session, though there is one of this folder.")
@click.option(
    "--connect",
    metavar="URL",
    envvar="OPENAGENT_CONNECT",
    help="The WebSocket of a daemon elsewhere.  [env: OPENAGENT_CONNECT]",
)
@click.option(
    "--token-file", metavar="FILE", help="Where that daemon's token is written.  [env: OPENAGENT_TOKEN holds the token]"
)
@click.option("--token", metavar="TOKEN", help="The token itself; other people of this machine can see it.")
def tui(session: str | None, new: bool, connect: str | None, token_file: str | None, token: str | None) -> None:
    """Talk to agents in a full terminal: the newest session of this folder, or the one named.

    Plain `openagent` in a terminal is the same.
    """
