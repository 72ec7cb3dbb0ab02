"""`openagent tools`"""

import asyncio
import json
import secrets
import signal
import sys
from typing import Any

import click
import msgspec

from openagent.cli.asking import Answer, Asking, asked_here, ground_of_terminal
from openagent.cli.command import (
    as_json,
    ask_daemon,
    command,
    complete,
    daemon,
    examples,
    group,
    plain,
    print_json,
    say,
)
from openagent.cli.terminal import table
from openagent.client import Attachment, Client
from openagent.client.text import clean, one_line
from openagent.protocol.conversation import PermissionAnswer, TurnCancel
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import PermissionRequested
from openagent.protocol.sessions import PermissionAsk
from openagent.protocol.tools import ToolInfo, ToolRan, ToolRun, ToolsList, ToolsSwitch
from openagent.protocol.words import call_to_come

_in_session = click.option("--session", default="", metavar="SESSION", help="Of this session alone.")


@group(
    "tools",
    epilog=examples(
        "openagent tools list",
        "openagent tools disable web_fetch",
        "openagent tools enable web_fetch --session 06gx",
        "openagent tools run 06gx read_file path=README.md",
    ),
)
def tools() -> None:
    """The tools agents have. Those of MCP servers count for sessions: name one with --session to see them."""


@command("list", "openagent tools list", "openagent tools list --session 06gx", "openagent tools list --json")
@_in_session
@as_json
def list_tools(session: str, as_json: bool) -> None:
    """List tools, and whether agents have them."""
    answer = ask_daemon(ToolsList(id="-", session=session))
    found = answer.tools
    if as_json:
        print_json(answer)
    elif found:
        say(table(("TOOL", "ON", "EFFECT", "FROM", "WHAT IT DOES"), [_row(tool) for tool in found]))
    else:
        say("There are no tools.")


def _row(tool: ToolInfo) -> tuple[str, ...]:
    effect = "reads" if tool.read_only else "changes"
    return tool.name, "yes" if tool.enabled else "no", effect, tool.source, one_line(tool.description, 80)


@command("enable", "openagent tools enable web_fetch", "openagent tools enable web_fetch --session 06gx")
@click.argument("name")
@_in_session
@as_json
def enable(name: str, session: str, as_json: bool) -> None:
    """Give agents a tool: one session from its next step on, or all that start from now on."""
    _switch(name, session, on=True, as_json=as_json)


@command("disable", "openagent tools disable web_fetch", "openagent tools disable web_fetch --session 06gx")
@click.argument("name")
@_in_session
@as_json
def disable(name: str, session: str, as_json: bool) -> None:
    """Take a tool away from agents: from one session, or from all that start from now on."""
    _switch(name, session, on=False, as_json=as_json)


def _switch(name: str, session: str, *, on: bool, as_json: bool) -> None:
    ask_daemon(ToolsSwitch(id="-", name=name, on=on, session=session))
    if as_json:
        print_json({"tool": name, "enabled": on, "session": session})
    else:
        whom = f"Session {clean(session)}" if session else "Sessions that start from now on"
        say(f"{whom}: {clean(name)} is {'on' if on else 'off'}.")


@command(
    "run",
    "openagent tools run 06gx read_file path=README.md",
    "openagent tools run 06gx shell command='make test'",
    'openagent tools run 06gx grep \'{"pattern": "TODO"}\' --json',
)
@click.argument("session", metavar="SESSION")
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE... | JSON]")
@as_json
def run(session: str, tool: str, arguments: tuple[str, ...], as_json: bool) -> int:
    """Run a tool in a session yourself: under its rules and audited, but no part of the conversation.

    What the session's mode asks about, you are asked here; without a terminal, and with nobody else attached, it is
    refused at once.
    """
    ran = complete(_run(session, tool, _arguments(arguments)))
    if as_json:
        print_json(plain(ran))
    else:
        say(clean(ran.text).rstrip())
    return int(ran.is_error)


async def _run(session: str, tool: str, arguments: dict[str, Any]) -> ToolRan:
    here = sys.stdin.isatty() and sys.stderr.isatty()
    async with daemon(interactive=here) as client:
        attachment = await client.attach(session, messages=1)
        call = f"user-{secrets.token_hex(8)}"
        answering = asyncio.create_task(_answer(client, attachment, call, here=here))
        try:
            op = ToolRun(id=client.next_id(), session=session, tool=tool, arguments=arguments, call=call)
            return await client.request(op)
        except asyncio.CancelledError:
            await client.request(TurnCancel(id=client.next_id(), session=session, call=call))
            raise
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)


async def _answer(client: Client, attachment: Attachment, call: str, *, here: bool) -> None:
    """What the call of this command asks for, and no other's."""
    async for event in attachment.events():
        if not isinstance(event, PermissionRequested) or event.ask.call_id != call:
            continue
        wanted = clean(call_to_come(event.ask.tool, event.ask.summary))
        if here:
            answer = _asked(event.ask)
        elif event.answerable:
            click.echo(f"… waiting for an approval in another client: {wanted}", err=True)
            continue
        else:
            click.echo(f"! refused, for nobody is here to approve it: {wanted}", err=True)
            answer = Answer("deny", reason=_nobody(event.ask))
        fields = {"id": client.next_id(), "session": attachment.session, "ask": event.ask.id, **answer.fields}
        await client.request(msgspec.convert(fields, PermissionAnswer))


def _asked(ask: PermissionAsk) -> Answer:
    """Nothing else happens until it is answered; Ctrl+C ends the command."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asked_here(Asking(msgspec.to_builtins(ask), sys.stderr, ground_of_terminal()), sys.stderr)
    finally:
        signal.signal(signal.SIGINT, before)


def _nobody(ask: PermissionAsk) -> str:
    mode = f"a session in the mode {ask.enough_mode} is not asked about it" if ask.enough_mode else ""
    ways = ["on a terminal you are asked", *([mode] if mode else [])]
    return f"It needs a person's approval, and nobody is here to give it: {', '.join(ways)}."


def _arguments(given: tuple[str, ...]) -> dict[str, Any]:
    if len(given) == 1 and given[0].startswith("{"):
        try:
            return json.loads(given[0])
        except ValueError as problem:
            raise OpenAgentError("invalid_argument", f"The arguments are no JSON: {problem}.") from None
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            hint = "Write command=ls, for example, or give one JSON object."
            raise OpenAgentError("invalid_argument", f"{each!r} is not NAME=VALUE.", hint=hint)
        if name in found:
            raise OpenAgentError("invalid_argument", f"{name} is given twice.", hint="Give it once.")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    """Numbers, true and false as such; everything else is text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text


for _command in (list_tools, enable, disable, run):
    tools.add_command(_command)
