"""`openagent sessions rename|archive|set|raw`"""

from difflib import get_close_matches
from math import isfinite
from typing import Any

import click
import msgspec

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.cli.completion import session_argument
from openagent.cli.terminal import BOLD, paint
from openagent.client.text import clean, one_line
from openagent.protocol.conversation import MessageRaw
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.nearest import nearest
from openagent.protocol.sessions import SessionUpdate, SettingsChange

_NOTHING = "none"
_LISTS = ("disabled_tools", "disabled_mcp_servers", "tools", "mcp_servers")


@command("rename", "openagent sessions rename 06gx 'The parser'")
@session_argument()
@click.argument("name")
@as_json
def rename(session: str, name: str, as_json: bool) -> None:
    """Give a session another name."""
    info = ask_daemon(SessionUpdate(id="-", session=session, name=name))
    if as_json:
        print_json(plain(info))
    else:
        say(f"{info.id} is called {one_line(info.name)!r}.")


@command("archive", "openagent sessions archive 06gx", "openagent sessions archive 06gx --back")
@session_argument()
@click.option("--back", is_flag=True, help="Take it out again.")
@as_json
def archive(session: str, back: bool, as_json: bool) -> None:
    """Put a session away: lists leave it aside until something is said in it again."""
    info = ask_daemon(SessionUpdate(id="-", session=session, archived=not back))
    if as_json:
        print_json(plain(info))
    else:
        say(f"{info.id} {one_line(info.name)!r} is {'back' if back else 'put away'}.")


@command(
    "set",
    "openagent sessions set 06gx mode=plan",
    "openagent sessions set 06gx model=anthropic/claude-sonnet-5 thinking=high budget_usd=2",
    "openagent sessions set 06gx tools=read_file,grep temperature=none",
    "openagent sessions set 06gx --persona reviewer",
)
@session_argument()
@click.argument("settings", nargs=-1, metavar="NAME=VALUE...")
@click.option("--persona", metavar="TEMPLATE", help="Go on as this template says: its prompt, model and tools; none.")
@as_json
def set_settings(session: str, settings: tuple[str, ...], persona: str | None, as_json: bool) -> None:
    """Change a session's settings, from its next step on. The value `none` takes one back; lists have commas."""
    if not settings and persona is None:
        raise click.UsageError("Say what to set: NAME=VALUE, or --persona TEMPLATE.")
    template = "" if persona == _NOTHING else persona
    info = ask_daemon(SessionUpdate(id="-", session=session, settings=_change(settings), template=template))
    if as_json:
        print_json(plain(info))
    else:
        names = [each.partition("=")[0] for each in settings]
        said = ", ".join(f"{name} = {getattr(info.settings, name)}" for name in names)
        if persona is not None:
            said = ", ".join(filter(None, (f"persona = {info.template or _NOTHING}", said)))
        say(clean(f"{info.id}: {said}."))


def _change(settings: tuple[str, ...]) -> SettingsChange:
    given: dict[str, Any] = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if not equals or name not in SettingsChange.__struct_fields__:
            near = get_close_matches(name, SettingsChange.__struct_fields__, n=1)
            guess = f"Did you mean {near[0]}? " if near else ""
            known = f"{guess}Settings: {', '.join(SettingsChange.__struct_fields__)}."
            raise OpenAgentError("invalid_argument", f"{each!r} sets nothing that there is.", hint=known)
        if value == _NOTHING:
            given[name] = None
        else:
            given[name] = [part for part in value.split(",") if part] if name in _LISTS else value
    try:
        change = msgspec.convert(given, SettingsChange, strict=False)
    except msgspec.ValidationError as problem:
        guess = nearest(problem, SettingsChange).strip()
        raise OpenAgentError("invalid_argument", f"This cannot be set: {problem}.", hint=guess) from None
    for name, value in msgspec.structs.asdict(change).items():
        if isinstance(value, float) and not isfinite(value):  # on the wire it would mean `none`
            raise OpenAgentError("invalid_argument", f"This cannot be set: {name} = {value:g} is no amount.")
    return change


@command("raw", "openagent sessions raw 06gx 2", "openagent sessions raw 06gx 2 --json | jq -r .request")
@session_argument()
@click.argument("number", type=click.IntRange(min=1))
@as_json
def raw(session: str, number: int, as_json: bool) -> None:
    """Print the request that led to an answer and the response as it came, as far as kept."""
    found = ask_daemon(MessageRaw(id="-", session=session, number=number))
    if as_json:
        print_json(plain(found))
        return
    for title, text in (("Request", found.request), ("Response", found.response)):
        say(f"{paint(title, BOLD)}\n{clean(text).rstrip()}\n")
    if found.truncated:
        say("It was longer; the rest was not kept.")
