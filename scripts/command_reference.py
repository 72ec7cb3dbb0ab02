"""Writes docs/command-reference.md, every command with its options, from the commands themselves: `--write`, or
`--check` that it is current."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from openagent.cli.commands import GROUPS, openagent
from openagent.client.command_line import OF_THE_TERMINAL, OPTIONS, SHORT

PAGE = Path(__file__).parent.parent / "docs" / "command-reference.md"
PROMPT = {"run": "[PROMPT]", "tui": "[SESSION]", "resume": "[SESSION]"}
"""They are read by the prompt's own grammar, and take the same options."""
_NUMBER = re.compile(r"(INTEGER|FLOAT)( RANGE)?")
HEAD = """\
# Every command

Written from the commands themselves (`make docs`); `openagent COMMAND --help` shows the same, with examples. Every
command takes `--json` (one object instead of text), `--connect URL` and `--token-file FILE` (a daemon elsewhere); they
are not repeated below. [cli.md](cli.md) tells what they have in common.
"""


def page() -> str:
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for title, entries in GROUPS.items():
        yield f"## {title.capitalize()}\n"
        for name in entries:
            yield from _command(click.Context(openagent, info_name="openagent"), openagent, name)


def _command(above: click.Context, group: click.Group, name: str) -> Iterator[str]:
    found = group.get_command(above, name)
    if found is None or found.hidden:
        return
    context = click.Context(found, info_name=name, parent=above)
    is_prompt = above.parent is None and name in PROMPT
    given = PROMPT[name] if is_prompt else " ".join(_arguments(found, context))
    yield f"### `{f'{context.command_path} {given}'.strip()}`\n"
    yield f"{_about(found, above, name)}\n"
    if options := list(_prompt_options(name) if is_prompt else _options(found, context)):
        yield "\n".join(["| option | |", "|---|---|", *options]) + "\n"
    if isinstance(found, click.Group):
        for inner in found.list_commands(context):
            yield from _command(context, found, inner)


def _about(found: click.Command, above: click.Context, name: str) -> str:
    """A command of the first level says what it does in its line of the list; all else in its own help."""
    if above.parent is None and not found.help:
        return next(entries[name].help for entries in GROUPS.values() if name in entries) + "."
    # Python cleans docstrings itself from 3.13 on.
    paragraphs = inspect.cleandoc(found.help or "").split("\n\n")
    return "\n\n".join(_as_it_stands(each) if each.startswith("\b") else " ".join(each.split()) for each in paragraphs)


def _as_it_stands(paragraph: str) -> str:
    lines = paragraph.removeprefix("\b").strip("\n")
    return f"```text\n{lines}\n```"


def _arguments(found: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in found.params:
        if isinstance(parameter, click.Argument):
            yield parameter.make_metavar(context)


def _options(found: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in found.params:
        if not isinstance(parameter, click.Option) or parameter.hidden or "--json" in parameter.opts:
            continue
        value = "" if parameter.is_flag else f" {_NUMBER.sub('N', parameter.make_metavar(context))}"
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        yield f"| `{_cell(names + value)}` | {_cell(' '.join((parameter.help or '').split()))} |"


def _prompt_options(name: str) -> Iterator[str]:
    letters = {long: short for short, long in SHORT.items()}
    known = OPTIONS if name == "run" else OF_THE_TERMINAL
    for option, told in known.items():
        value, _, about = told.partition("  ") if "  " in told else ("", "", told)
        names = ", ".join(filter(None, (letters.get(option, ""), option)))
        yield f"| `{_cell(f'{names} {value}'.strip())}` | {_cell(about)} |"
    if name != "run":
        yield "| `…` | those of `openagent run`, but for `--json` and its like |"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def main() -> int:
    current = page()
    if "--write" in sys.argv:
        PAGE.write_text(current)
    elif not PAGE.exists() or PAGE.read_text() != current:
        print("docs/command-reference.md differs from the commands: run make docs.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
