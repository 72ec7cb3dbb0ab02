"""`openagent tui` and `openagent resume` among the commands. `__main__` opens them; this is for the help."""

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
@click.option("--new", is_flag=True, help="Start a new session, even if this folder has one.")
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
    """Open the full-screen terminal app: the newest session of this folder, or the one named.

    Plain `openagent` in a terminal is the same.
    """


@command("resume", "openagent resume", "openagent resume 06gx", 'openagent run --session 06gx "Now the tests"')
@session_argument(metavar="[SESSION]", required=False)
def resume(session: str | None) -> None:
    """Open an earlier session in the terminal app: the one named, or one you choose from a list."""
