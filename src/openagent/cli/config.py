"""`openagent config`"""

import os
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import click

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import clean
from openagent.protocol import locations
from openagent.protocol.configuration import ConfigChanged, ConfigSet, ConfigShow, ConfigValue
from openagent.protocol.errors import OpenAgentError

_ANEW = "`openagent stop`, and the next command starts it anew."


@group(
    "config",
    epilog=examples(
        "openagent config show",
        "openagent config get model",
        "openagent config set budget.day_usd 20",
        "openagent config edit",
    ),
)
def config() -> None:
    """Show and change the settings. `openagent help configuration` tells what each is for."""


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
    for note in [*found.notes, *_set_here_alone(found.values)]:
        say(f"! {clean(note)}")


def _set_here_alone(values: Sequence[ConfigValue]) -> Iterator[str]:
    """Variables of this shell that the daemon has not got: it was started in another, or before they were set."""
    for item in values:
        variable = f"OPENAGENT_{item.key.upper().replace('.', '_')}"
        if os.environ.get(variable) and item.source != f"${variable}":
            yield f"${variable} is set here and not where the daemon was started, so it does not count. {_ANEW}"


def _shown(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "–"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


@command("get", "openagent config get model", "openagent config get budget")
@click.argument("key")
@click.option("--cwd", default=".", metavar="DIR", help="The workspace whose settings count; this directory.")
@as_json
def get(key: str, cwd: str, as_json: bool) -> None:
    """Print the value of a setting, or of all below a name."""
    found = ask_daemon(ConfigShow(id="-", cwd=os.path.abspath(os.path.expanduser(cwd)))).values
    chosen = [item for item in found if item.key == key or item.key.startswith(f"{key}.")]
    if not chosen:
        near = get_close_matches(key, [item.key for item in found], n=1)
        guess = f"Did you mean {near[0]}?" if near else "`openagent config show` lists them."
        raise OpenAgentError("not_found", f"There is no setting {key!r}.", hint=guess)
    if as_json:
        print_json({"values": plain(chosen)})
    elif len(chosen) == 1 and chosen[0].key == key:
        say(clean(_shown(chosen[0].value)))
    else:
        say(table(("KEY", "SOURCE", "VALUE"), [(item.key, item.source, _shown(item.value)) for item in chosen]))


_project = click.option("--project", is_flag=True, help="This folder's .openagent/config.toml, not your own file.")


@command("path", "openagent config path", "openagent config path --project")
@_project
@as_json
def path(project: bool, as_json: bool) -> None:
    """Print where your settings are kept."""
    if as_json:
        print_json({"path": _file(project)})
    else:
        say(_file(project))


@command("edit", "openagent config edit", "EDITOR=nano openagent config edit --project")
@_project
@as_json
def edit(project: bool, as_json: bool) -> None:
    """Open your settings in $VISUAL or $EDITOR, and check them afterwards."""
    file = _file(project)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    if not os.path.exists(file):
        with open(file, "x", encoding="utf-8") as new:
            new.write("# `openagent help configuration` tells what can stand here.\n")
    click.edit(filename=file)
    found = ask_daemon(ConfigShow(id="-", cwd=os.getcwd()))
    if as_json:
        print_json({"path": file, "notes": found.notes})
        return
    for note in found.notes:
        say(f"! {clean(note)}")
    say(f"{file} is in order.")


def _file(project: bool) -> str:
    return os.path.abspath(os.path.join(".openagent", "config.toml") if project else locations.config_file(os.environ))


@command(
    "set",
    "openagent config set model anthropic/claude-sonnet-5",
    "openagent config set budget.day_usd 20",
    "openagent config set --project mode plan",
)
@click.argument("key")
@click.argument("value")
@_project
@as_json
def set_(key: str, value: str, project: bool, as_json: bool) -> None:
    """Write a setting into your file, after checking it. Comments and everything else in the file stay."""
    done = ask_daemon(ConfigSet(id="-", key=key, value=value, cwd=os.getcwd() if project else ""))
    if as_json:
        print_json(plain(done))
    else:
        say(clean(f"{done.key} = {_shown(done.value)}, in {done.file}.{_later(done)}"))


@command("unset", "openagent config unset budget.day_usd")
@click.argument("key")
@_project
@as_json
def unset(key: str, project: bool, as_json: bool) -> None:
    """Take a setting out of your file; what counts then, `openagent config get` prints."""
    done = ask_daemon(ConfigSet(id="-", key=key, cwd=os.getcwd() if project else ""))
    if as_json:
        print_json(plain(done))
    else:
        say(clean(f"{done.key} is no longer set in {done.file}.{_later(done)}"))


def _later(done: ConfigChanged) -> str:
    return f" The daemon reads it when it starts. {_ANEW}" if done.at_start else ""


for _command in (show, get, set_, unset, path, edit):
    config.add_command(_command)
