"""`openagent web`"""

import sys
import webbrowser

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.protocol.tokens import WebLogin


@command("web", "openagent web", "openagent web --no-open", "openagent web --json")
@click.option("--open/--no-open", "opens", default=None, help="Open the browser here; the default in a terminal.")
@as_json
def web(opens: bool | None, as_json: bool) -> None:
    """Show the web app's address, with a code that logs one browser in. It works once, for five minutes."""
    address = ask_daemon(WebLogin(id="-"))
    if as_json:
        print_json(plain(address))
        return
    say(address.url)
    if opens or (opens is None and sys.stdout.isatty()):
        webbrowser.open(address.url)
