"""`openagent mcp prompt`"""

import os

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.cli.terminal import BOLD, paint
from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpPromptGet
from openagent.protocol.messages import TextPart


@command("prompt", "openagent mcp prompt docs review file=a.py", "openagent mcp prompt docs review file=a.py --json")
@click.argument("server")
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE...]")
@as_json
def prompt(server: str, name: str, arguments: tuple[str, ...], as_json: bool) -> None:
    """Print a server's prompt, filled in."""
    if wrong := [each for each in arguments if "=" not in each]:
        raise OpenAgentError("invalid_argument", f"{wrong[0]!r} is not NAME=VALUE.")
    given = {key: value for key, _, value in (each.partition("=") for each in arguments)}
    found = ask_daemon(McpPromptGet(id="-", cwd=os.getcwd(), server=server, name=name, arguments=given))
    if as_json:
        print_json(plain(found))
        return
    for each in found.messages:
        say(paint(each.role, BOLD))
        say(clean(each.part.text) if isinstance(each.part, TextPart) else "(an image)")
