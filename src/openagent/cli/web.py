"""`openagent web`"""

import sys
import webbrowser

import click

from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.protocol.tokens import LoginAddress, WebLogin


@command("web", "openagent web", "openagent web --no-open", "openagent web --json")
@click.option("--open/--no-open", "opens", default=None, help="Open the browser here; the default in a terminal.")
@as_json
def web(opens: bool | None, as_json: bool) -> None:
    """Show the web app's address, with a code that logs one browser in. It works once, for five minutes."""
    address = complete(_address())
    if as_json:
        print_json(plain(address))
        return
    say(address.url)
    if opens or (opens is None and sys.stdout.isatty()):
        webbrowser.open(address.url)


async def _address() -> LoginAddress:
    async with daemon() as client:
        return await client.request(WebLogin(id=client.next_id()))
