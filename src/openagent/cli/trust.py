"""`openagent trust`"""

import os
import time

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import ago, clean
from openagent.protocol.safety import TrustAdd, TrustEntries, TrustEntry, TrustRemove, TrustShow


@command(
    "trust", "openagent trust", "openagent trust ~/project", "openagent trust --list", "openagent trust --remove ."
)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--list", "listed", is_flag=True, help="Show the trusted folders.")
@click.option("--remove", is_flag=True, help="Trust the folder no longer.")
@as_json
def trust(folder: str, listed: bool, remove: bool, as_json: bool) -> None:
    """Let a folder's own settings, rules, MCP servers and hooks count, as they are now.

    Without this they can only make things stricter. When one of them changes, the folder is not trusted until you say
    so again. Read them first: they decide where requests go and what agents may do.
    """
    if listed and remove:
        raise click.UsageError("--list and --remove do not go together.")
    place = os.path.abspath(os.path.expanduser(folder))
    if listed:
        _show(ask_daemon(TrustShow(id="-")), as_json)
    elif remove:
        ask_daemon(TrustRemove(id="-", folder=place))
        if as_json:
            print_json({"removed": place})
        else:
            say(f"{clean(place)} is trusted no longer.")
    else:
        entry = ask_daemon(TrustAdd(id="-", cwd=place))
        if as_json:
            print_json(plain(entry))
        else:
            say(f"Trusted: {clean(entry.folder)}")
            say("\n".join(f"  {clean(file)}" for file in entry.files) or "  It says nothing about agents yet.")


def _show(entries: TrustEntries, as_json: bool) -> None:
    if as_json:
        print_json(entries)
    elif entries.folders:
        now = time.time()
        rows = [(_state(entry), ago(entry.at, now), str(len(entry.files)), entry.folder) for entry in entries.folders]
        say(table(("STATE", "TRUSTED", "FILES", "FOLDER"), rows))
    else:
        say("No folder is trusted. `openagent trust DIR` trusts one.")


def _state(entry: TrustEntry) -> str:
    return "trusted" if entry.current else "changed since"
