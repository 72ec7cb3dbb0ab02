"""`openagent help` and `openagent version`: the handbook, which lies in the package, and every command's own help."""

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import click

from openagent import __version__
from openagent.cli import commands
from openagent.cli.command import as_json, command, print_json, say
from openagent.client.text import clean

COMMANDS_TOPIC = "commands"
_PACKED = Path(__file__).parent.parent / "handbook"
"""Where the build puts docs/*.md."""
_BESIDE = Path(__file__).parents[3] / "docs"
"""Where they are in a checkout."""
_NOT_FOR_READERS = ("README", "TASKS", "comparison", "status")


class Topic(NamedTuple):
    name: str
    title: str
    file: Path


def topics() -> dict[str, Topic]:
    folder = _PACKED if _PACKED.is_dir() else _BESIDE
    files = [file for file in sorted(folder.glob("*.md")) if file.stem not in _NOT_FOR_READERS]
    return {(name := file.stem.replace("_", "-")): Topic(name, _title(file), file) for file in files}


def _title(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), file.stem)


@command("help", "openagent help", "openagent help safety", "openagent help commands", "openagent help sessions export")
@click.argument("topic", nargs=-1, metavar="[TOPIC | COMMAND]")
@as_json
@click.pass_context
def help_topic(ctx: click.Context, topic: tuple[str, ...], as_json: bool) -> None:
    """Read a page of the handbook, or the help of a command. Alone, it lists the pages."""
    words = [word.lower().removeprefix("docs/").removesuffix(".md").replace("_", "-") for word in topic]
    if not words:
        _list(as_json)
    elif words == [COMMANDS_TOPIC]:
        _show_commands(as_json)
    elif len(words) == 1 and words[0] in (pages := topics()):
        text = clean(pages[words[0]].file.read_text(encoding="utf-8"))
        if as_json:
            print_json({"topic": words[0], "title": pages[words[0]].title, "text": text})
        else:
            _page(text)
    else:
        text = _help_of(ctx, words)
        if as_json:
            print_json({"topic": " ".join(words), "text": text})
        else:
            _page(text)


def _show_commands(as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "commands": [
                    {"name": name, "group": group, "about": entry.help}
                    for group, entries in commands.GROUPS.items()
                    for name, entry in entries.items()
                ]
            }
        )
    else:
        say(_every_command())


def _list(as_json: bool) -> None:
    pages = topics().values()
    if as_json:
        print_json({"topics": [{"topic": page.name, "title": page.title} for page in pages]})
        return
    say("The handbook. `openagent help TOPIC` shows a page, `openagent COMMAND --help` explains a command.\n")
    say(f"  {COMMANDS_TOPIC:18}Every command, with what it does")
    for page in pages:
        say(f"  {page.name:18}{clean(page.title)}")


def _every_command() -> str:
    lines: list[str] = []
    for title, entries in commands.GROUPS.items():
        lines += [f"{title}:", *(f"  {name:12}{entry.help}" for name, entry in entries.items()), ""]
    return "\n".join(lines) + "\n`openagent COMMAND --help` has the options and examples of each."


def _help_of(ctx: click.Context, words: list[str]) -> str:
    """As `COMMAND --help` prints it."""
    above, found = ctx.find_root(), commands.openagent
    for place, word in enumerate(words):
        if not isinstance(found, click.Group) or (inner := found.get_command(above, word)) is None:
            raise click.UsageError(_unknown(found, above, words, place))
        above, found = click.Context(inner, info_name=word, parent=above), inner
    return found.get_help(above)


def _unknown(group: click.Command, above: click.Context, words: list[str], place: int) -> str:
    known = group.list_commands(above) if isinstance(group, click.Group) else []
    if place == 0:
        known = [COMMANDS_TOPIC, *topics(), *known]
    near = get_close_matches(words[place], known, n=1)
    wanted = " ".join(words[: place + 1])
    guess = f" Did you mean {' '.join([*words[:place], near[0]])}?" if near else " `openagent help` lists the pages."
    return f"There is no help on {wanted!r}.{guess}"


def _page(text: str) -> None:
    """Through the pager on a terminal that is too short for it; as it is anywhere else."""
    if sys.stdout.isatty() and text.count("\n") >= os.get_terminal_size(sys.stdout.fileno()).lines - 1:
        click.echo_via_pager(text if text.endswith("\n") else text + "\n")
    else:
        say(text.rstrip())


@command("version", "openagent version", "openagent version --json")
@as_json
def version(as_json: bool) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": __version__})
    else:
        say(f"openagent {__version__}")
