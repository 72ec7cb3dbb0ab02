"""`openagent tui` and `openagent resume` among the commands. `__main__` opens them; this is for the help."""

import click

from openagent.cli.command import command
from openagent.cli.completion import session_argument
from openagent.client.command_line import MODES


@command(
    "tui",
    "openagent",
    "openagent tui 06gx",
    "openagent tui --new",
    'openagent "Why does test_retry fail?"',
    "openagent -m anthropic/claude-sonnet-5-5 --mode plan",
    "openagent --connect ws://build-server:8080/ws --token-file ~/build-server.token",
)
@session_argument(metavar="[SESSION]", required=False)
@click.argument("prompt", metavar="[PROMPT]", required=False)
@click.option(
    "-c", "--continue", is_flag=True, help="Go on with the newest session of this folder, and open its tabs again."
)
@click.option("-r", "--resume", metavar="[SESSION]", help="Go on with this session, or choose one.")
@click.option("-m", "--model", metavar="PROVIDER/MODEL", help="What answers.")
@click.option("--mode", type=click.Choice(MODES), help="What the agent may do unasked.")
@click.option("-C", "--cwd", metavar="DIR", help="The workspace; this directory when left out.")
@click.option("-i", "--image", metavar="FILE", help="Show the model this image, with the prompt.")
@click.option("--template", metavar="NAME", help="Start the session from a template.")
@click.option("--new", is_flag=True, help="Start a new session; so does every start without -c or -r.")
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
def tui(**given: object) -> None:
    """Open the full-screen terminal app: a fresh conversation, or the session named.

    Plain `openagent` in a terminal is the same, and takes the same options; `openagent "PROMPT"` opens a new session
    with the prompt sent. With `-p`, `--json` or in a pipe it prints the answer instead, as `openagent run` does.
    """


@command("resume", "openagent resume", "openagent resume 06gx", 'openagent run --session 06gx "Now the tests"')
@session_argument(metavar="[SESSION]", required=False)
def resume(session: str | None) -> None:
    """Open an earlier session in the terminal app: the one named, or one you choose from a list."""
