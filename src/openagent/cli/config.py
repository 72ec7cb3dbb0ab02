"""`openagent config`"""

import os

import click

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import clean
from openagent.protocol.configuration import ConfigShow


@group("config", epilog=examples("openagent config show"))
def config() -> None:
    """The settings."""


@command("show", "openagent config show", "openagent config show --cwd ~/project --json")
@click.option("--cwd", default=".", metavar="DIR", help="The workspace whose settings are shown; this directory.")
@as_json
def show(cwd: str, as_json: bool) -> None:
    """Show each setting, its value and where that came from. Secrets are masked."""
    found = ask_daemon(ConfigShow(id="-", cwd=os.path.abspath(os.path.expanduser(cwd))))
    if as_json:
        print_json(plain(found))
        return
    say(table(("KEY", "SOURCE", "VALUE"), [(item.key, item.source, _shown(item.value)) for item in found.values]))
    say()
    say("Files: " + (", ".join(found.files) or "none"))
    for note in found.notes:
        say(f"! {clean(note)}")


def _shown(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "–"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


config.add_command(show)
