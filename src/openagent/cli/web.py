"""`openagent web`"""

import sys
import webbrowser

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.protocol.tokens import WebClose, WebLogin


@command("web", "openagent web", "openagent web --no-open", "openagent web --off")
@click.option("--open/--no-open", "opens", default=None, help="Open the browser here; the default in a terminal.")
@click.option("--off", is_flag=True, help="Close the web interface. It stays closed until you run `openagent web`.")
@as_json
def web(opens: bool | None, off: bool, as_json: bool) -> None:
    """Open the web interface in a browser.

    The address that is printed signs one browser in. It works once, for five minutes. If port 4180 is in use, the next
    free port is taken and kept. The web interface opens again, at the same port, whenever the daemon starts.
    """
    if off:
        done = ask_daemon(WebClose(id="-"))
        if as_json:
            print_json(plain(done))
            return
        say("The web interface is closed. `openagent web` opens it again.")
        return
    address = ask_daemon(WebLogin(id="-"))
    if as_json:
        print_json(plain(address))
        return
    if address.note:
        click.echo(address.note, err=True)
    say(address.url)
    if opens or (opens is None and sys.stdout.isatty()):
        webbrowser.open(address.url)
