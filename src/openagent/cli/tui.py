"""`openagent tui`: the terminal interface's entry among the commands. `__main__` opens it; this is for the help."""

import click

from openagent.cli.command import command


@command("tui", "openagent", "openagent tui 06gx", "openagent tui --new")
@click.argument("session", metavar="SESSION", required=False)
@click.option("--new", is_flag=True, help="Start a session, though there is one of this folder.")
def tui(session: str | None, new: bool) -> None:
    """Talk to agents in a full terminal: the newest session of this folder, or the one named.

    Plain `openagent` in a terminal is the same.
    """
