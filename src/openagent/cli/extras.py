"""`openagent extras`"""

import click

from openagent.cli.command import as_json, ask_daemon, command, complete, examples, group, plain, print_json, say
from openagent.cli.models import pull_bar
from openagent.cli.progress import with_progress
from openagent.cli.terminal import GREEN, YELLOW, paint
from openagent.client.text import clean, size
from openagent.protocol.events import PullProgress
from openagent.protocol.extras import ExtraInfo, ExtrasFetch, ExtrasList


@group("extras", epilog=examples("openagent extras list", "openagent extras get tokenizer"))
def extras() -> None:
    """Large libraries that are fetched when first wanted."""


@command("list", "openagent extras list", "openagent extras list --json")
@as_json
def list_extras(as_json: bool) -> None:
    """Tell which are here, and what happens without the others."""
    answer = ask_daemon(ExtrasList(id="-"))
    found = answer.extras
    if as_json:
        print_json(answer)
        return
    width = max(len(each.name) for each in found)
    for each in found:
        mark = paint("–", YELLOW) if each.state == "absent" else paint("✓", GREEN)
        say(f"{mark} {each.name:{width}}  {clean(_state(each))}")


def _state(extra: ExtraInfo) -> str:
    if extra.state == "absent":
        return f"to {extra.purpose}: about {extra.download_mb} MB to fetch; without it {extra.without}"
    how = f"fetched, {size(extra.size_bytes)}" if extra.state == "fetched" else "installed"
    return f"to {extra.purpose}: {how}"


@command("get", "openagent extras get tokenizer", "openagent extras get index")
@click.argument("name")
@as_json
def get(name: str, as_json: bool) -> None:
    """Fetch one now, checked by its hash, into the data home."""
    got = complete(with_progress(ExtrasFetch(id="-", name=name), PullProgress, pull_bar, quiet=as_json))
    if as_json:
        print_json(plain(got))
    else:
        say(f"{paint('✓', GREEN)} {got.name}: {clean(_state(got))}")


for _command in (list_extras, get):
    extras.add_command(_command)
