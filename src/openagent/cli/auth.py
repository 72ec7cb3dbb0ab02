"""`openagent auth`"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

import click

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
from openagent.cli.team_login import is_server, log_out
from openagent.cli.terminal import table
from openagent.client import Client
from openagent.client.text import ago
from openagent.protocol.auth import (
    AuthAdd,
    AuthEntry,
    AuthList,
    AuthLogin,
    AuthLoginFinish,
    AuthRefresh,
    AuthRemove,
    KeysAdd,
    KeysList,
    KeysRemove,
    LoginClient,
    LoginStarted,
)
from openagent.protocol.configuration import ConfigSet
from openagent.protocol.errors import OpenAgentError

F = TypeVar("F", bound=Callable[..., Any])
_NOT_THE_KEYS_FAULT = ("provider_error", "config_error", "rate_limited", "quota_exhausted")


@group("auth", epilog=examples("openagent auth add anthropic", "openagent auth list"))
def auth() -> None:
    """The keys and logins of model providers, kept encrypted on this machine. `openagent login` adds one."""


def _whose(function: F) -> F:
    for option in (
        click.option("--team", default="", help="A key of this team, on a server for several."),
        click.option("--own", is_flag=True, help="A key of your own, on a server for a team."),
    ):
        function = option(function)
    return function


@command(
    "add",
    "openagent auth add anthropic",
    "openagent auth add anthropic@work",
    "pass show openai | openagent auth add openai --replace",
    "openagent auth add anthropic --own",
    "openagent auth add anthropic --team core",
)
@click.argument("name", metavar="PROVIDER[@NAME]")
@click.option("--replace", is_flag=True, help="Replace the key that is there.")
@click.option("--no-test", is_flag=True, help="Store it without asking the provider, also for one not set up yet.")
@_whose
@as_json
def add(name: str, *, replace: bool, no_test: bool, own: bool, team: str, as_json: bool) -> None:
    """Store an API key: typed unseen, or read from stdin. It is no argument, because others can see those.

    It is tried first, with a question that costs nothing: one that is refused is not stored. With a name after an @ it
    is kept beside those there are, and goes on where they are refused or used up.

    On a server for a team, --own keeps one that only turns of your own sessions use, and --team one for sessions that
    are shared with the team; they come before the one that is everybody's.
    """
    entry = store_key(name, read_key(name), replace=replace, test=not no_test, own=own, team=team)
    if as_json:
        print_json(plain(entry))
    else:
        say(key_stored(entry.name, tested=not no_test))


def store_key(name: str, key: str, *, replace: bool, test: bool, own: bool = False, team: str = "") -> AuthEntry:
    try:
        if own or team:
            return ask_daemon(KeysAdd(id="-", name=name, key=key, team=team, replace=replace, test=test))
        return ask_daemon(AuthAdd(id="-", name=name, key=key, replace=replace, test=test))
    except OpenAgentError as problem:
        if test and problem.info.code in _NOT_THE_KEYS_FAULT:
            click.echo("The key was not stored. With --no-test it is, untried.", err=True)
        raise


def key_stored(name: str, *, tested: bool) -> str:
    return f"The key for {name} works and is stored." if tested else f"The key for {name} is stored, untried."


@command("use", "openagent auth use anthropic@work", "openagent auth use anthropic")
@click.argument("name", metavar="PROVIDER[@NAME]")
@as_json
def use(name: str, as_json: bool) -> None:
    """Of several keys and logins of a provider, use this one first. The others go on where it does not do."""
    provider, _, label = name.partition("@")
    entries = ask_daemon(AuthList(id="-")).entries
    if name not in {entry.name for entry in entries if entry.source == "vault"}:
        kept = ", ".join(entry.name for entry in entries if entry.source == "vault") or "nothing"
        raise OpenAgentError("not_found", f"The vault has no {name!r}.", hint=f"It holds {kept}.")
    ask_daemon(ConfigSet(id="-", key=f"credentials.{provider}", value=label or None))
    if as_json:
        print_json({"used": name})
    else:
        say(f"{provider} uses {name} from the next request on.")


def read_key(name: str, what: str = "API key") -> str:
    if sys.stdin.isatty():
        return click.prompt(f"{what} of {name}", hide_input=True, err=True)
    return sys.stdin.readline().strip()


@command("list", "openagent auth list", "openagent auth list --json", "openagent auth list --own")
@_whose
@as_json
def list_entries(own: bool, team: str, as_json: bool) -> None:
    """List what is stored, and what comes from the config or the environment. Keys themselves are never shown."""
    if own or team:
        _list_owned(team, as_json)
        return
    answer = ask_daemon(AuthList(id="-", cwd=os.getcwd()))
    entries = answer.entries
    if as_json:
        print_json(answer)
    elif entries:
        now = time.time()
        say(table(("PROVIDER", "KIND", "FROM", "ADDED", "USED", "ENDS"), [_row(entry, now) for entry in entries]))
        for entry in entries:
            if entry.dead:
                say(f"\n{entry.name} no longer works: {entry.dead}. Mend it with `{entry.mend}`.".replace("..", "."))
    else:
        say("Nothing is stored. `openagent login PROVIDER` stores a key.")
    if answer.servers and not as_json:
        say("\nFor MCP servers, which `openagent mcp` sets up:")
        say(table(("SERVER", "KIND", "ADDED"), [_server_row(entry, time.time()) for entry in answer.servers]))


def _list_owned(team: str, as_json: bool) -> None:
    answer = ask_daemon(KeysList(id="-", team=team))
    if as_json:
        print_json(answer)
    elif answer.entries:
        now = time.time()
        said = [(each.name, ago(each.created_at, now), _row(each, now)[4]) for each in answer.entries]
        say(table(("PROVIDER", "ADDED", "USED"), said))
    else:
        say("There is none: the keys that are everybody's are used.")


def _server_row(entry: AuthEntry, now: float) -> tuple[str, ...]:
    return entry.name, "login" if entry.kind == "oauth" else "values", ago(entry.created_at, now)


def _row(entry: AuthEntry, now: float) -> tuple[str, ...]:
    used = f"{ago(entry.last_used_at, now)}, {entry.use_count} ×" if entry.last_used_at else "–"
    ends = f"{datetime.fromtimestamp(entry.expires_at):%Y-%m-%d %H:%M}" if entry.expires_at else "–"
    ends = "dead" if entry.dead else ends
    added = ago(entry.created_at, now) if entry.created_at else "–"
    return entry.name, "key" if entry.kind == "api_key" else "login", entry.source, added, used, ends


@command("remove", "openagent auth remove anthropic", "openagent auth remove anthropic --own")
@click.argument("name", metavar="PROVIDER")
@_whose
@as_json
def remove(name: str, own: bool, team: str, as_json: bool) -> None:
    """Forget a key. A login is also given back to the provider, where it offers that."""
    if own or team:
        ask_daemon(KeysRemove(id="-", name=name, team=team))
        if as_json:
            print_json({"removed": name})
        else:
            say(f"The key for {name} is forgotten.")
    else:
        _remove(name, as_json)


def _remove(name: str, as_json: bool) -> None:
    ask_daemon(AuthRemove(id="-", name=name))
    if as_json:
        print_json({"removed": name})
    else:
        say(f"The key or login of {name} is forgotten.")


@command(
    "login",
    "openagent auth login gemini",
    "openagent auth login gemini --template google --client-id 1234.apps.googleusercontent.com",
    "openagent auth login office --issuer https://login.example.com --client-id agents --device",
)
@click.argument("provider", metavar="PROVIDER")
@click.option("--device", is_flag=True, help="By a code that you type on any device: for machines without a browser.")
@click.option("--template", default="", help="Whose endpoints to use: google, microsoft, github or huggingface.")
@click.option("--issuer", default="", metavar="URL", help="In place of a template: your company's login server.")
@click.option("--client-id", default="", help="The id of the client that you registered there.")
@click.option("--client-secret", is_flag=True, help="The client has a secret: typed unseen, or read from stdin.")
@click.option("--redirect-uri", default="", metavar="URI", help="Where the browser goes, as you registered it.")
@click.option("--base-url", default="", metavar="URL", help="Where the models of a new provider answer.")
@as_json
def login(provider: str, device: bool, client_secret: bool, as_json: bool, **client: str) -> None:
    """Log in with a browser, or by a code. On another machine's browser, paste the code or the address it ends at.

    As whom and where is set under [providers.PROVIDER.oauth] in the config, or said here with --client-id and a
    template or an issuer: that is written into the config once you are logged in.
    """
    secret = read_key(f"the client of {provider}", "Secret") if client_secret else ""
    known = LoginClient(client_secret=secret, **client) if secret or any(client.values()) else None
    entry = complete(login_with_browser(provider, device=device, client=known))
    if as_json:
        print_json(plain(entry))
    else:
        say(f"You are logged in to {provider}.")


async def login_with_browser(provider: str, *, device: bool = False, client: LoginClient | None = None) -> AuthEntry:
    async with daemon() as asked:
        op = AuthLogin(id=asked.next_id(), provider=provider, cwd=os.getcwd(), device=device, client=client)
        started = await asked.request(op)
        if started.code:
            click.echo(f"Open this address on any device:\n\n  {started.url}\n", err=True)
            click.echo(f"Enter there: {started.code}\n\nWaiting until you have allowed the access.", err=True)
            return await _finish(asked, started, "")
        return await browser_or_paste(started, lambda answer: _finish(asked, started, answer), "or the code")


T = TypeVar("T")


async def browser_or_paste(
    started: LoginStarted, finish: Callable[[str], Coroutine[Any, Any, T]], besides: str = ""
) -> T:
    """Whichever comes first: the browser's visit to the daemon, or a pasted line. `besides` can be pasted too."""
    click.echo(f"Open this address and allow the access:\n\n  {started.url}\n", err=True)
    if sys.stdin.isatty():
        address = ", ".join(filter(None, ("the address it ended at", besides)))
        shown = f"Waiting for the browser. Or paste here {address}:"
        click.echo("Paste here the code that the page shows:" if started.pasted else shown, err=True)
    browser = asyncio.create_task(finish(""))
    pasted = _line_from_stdin()
    while True:
        await asyncio.wait([browser, pasted], return_when=asyncio.FIRST_COMPLETED)
        if browser.done():
            return browser.result()
        answer, pasted = pasted.result(), _line_from_stdin()
        if not answer:
            return await browser
        try:
            return await finish(answer)
        except OpenAgentError as problem:
            if browser.done():
                raise
            click.echo(str(problem), err=True)


async def _finish(client: Client, started: LoginStarted, answer: str) -> AuthEntry:
    op = AuthLoginFinish(id=client.next_id(), login=started.login, answer=answer)
    return await client.request(op)


def _line_from_stdin() -> "asyncio.Future[str]":
    """Read by a thread that may stay behind: nothing else can give up on a terminal."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def take(text: str) -> None:
        if not line.done():
            line.set_result(text.strip())

    def read() -> None:
        text = sys.stdin.readline()
        if not loop.is_closed():
            loop.call_soon_threadsafe(take, text)

    threading.Thread(target=read, daemon=True).start()
    return line


@command("refresh", "openagent auth refresh anthropic")
@click.argument("provider")
@as_json
def refresh(provider: str, as_json: bool) -> None:
    """Renew a login now. It is renewed by itself before it ends."""
    entry = ask_daemon(AuthRefresh(id="-", provider=provider))
    if as_json:
        print_json(plain(entry))
    else:
        ends = f" until {datetime.fromtimestamp(entry.expires_at):%Y-%m-%d %H:%M}" if entry.expires_at else ""
        say(f"The login to {provider} is good{ends}.")


@command("logout", "openagent logout anthropic", "openagent logout https://agents.example.com")
@click.argument("name", metavar="PROVIDER | URL")
@as_json
def logout(name: str, as_json: bool) -> None:
    """Forget a provider's key or login, or log out of a team's server. A login is also given back to the provider,
    where it offers that."""
    if is_server(name):
        log_out(name, as_json)
    else:
        _remove(name, as_json)


for _command in (add, use, list_entries, remove, login, refresh):
    auth.add_command(_command)
