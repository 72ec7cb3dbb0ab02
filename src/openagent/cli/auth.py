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
    LoginStarted,
)
from openagent.protocol.errors import OpenAgentError


@group("auth", epilog=examples("openagent auth add anthropic", "openagent auth list"))
def auth() -> None:
    """The keys and logins of model providers, kept encrypted on this machine. `openagent login` adds one."""


@command("add", "openagent auth add anthropic", "pass show openai | openagent auth add openai --replace")
@click.argument("name", metavar="PROVIDER")
@click.option("--replace", is_flag=True, help="Replace the key that is there.")
@as_json
def add(name: str, replace: bool, as_json: bool) -> None:
    """Store an API key: typed unseen, or read from stdin. It is no argument, because others can see those."""
    key = read_key(name)
    entry = ask_daemon(AuthAdd(id="-", name=name, key=key, replace=replace))
    if as_json:
        print_json(plain(entry))
    else:
        say(f"The key for {name} is stored. `openagent models test {name}` tries it.")


def read_key(name: str) -> str:
    if sys.stdin.isatty():
        return click.prompt(f"API key of {name}", hide_input=True, err=True)
    return sys.stdin.readline().strip()


@command("list", "openagent auth list", "openagent auth list --json")
@as_json
def list_entries(as_json: bool) -> None:
    """List what is stored, and what comes from the config or the environment. Keys themselves are never shown."""
    answer = ask_daemon(AuthList(id="-", cwd=os.getcwd()))
    entries = answer.entries
    if as_json:
        print_json(answer)
    elif entries:
        now = time.time()
        say(table(("PROVIDER", "KIND", "FROM", "ADDED", "USED", "ENDS"), [_row(entry, now) for entry in entries]))
    else:
        say("Nothing is stored. `openagent login PROVIDER` stores a key.")


def _row(entry: AuthEntry, now: float) -> tuple[str, ...]:
    used = f"{ago(entry.last_used_at, now)}, {entry.use_count} ×" if entry.last_used_at else "–"
    ends = f"{datetime.fromtimestamp(entry.expires_at):%Y-%m-%d %H:%M}" if entry.expires_at else "–"
    added = ago(entry.created_at, now) if entry.created_at else "–"
    return entry.name, "key" if entry.kind == "api_key" else "login", entry.source, added, used, ends


@command("remove", "openagent auth remove anthropic")
@click.argument("name", metavar="PROVIDER")
@as_json
def remove(name: str, as_json: bool) -> None:
    """Forget a key. A login is also given back to the provider, where it offers that."""
    _remove(name, as_json)


def _remove(name: str, as_json: bool) -> None:
    ask_daemon(AuthRemove(id="-", name=name))
    if as_json:
        print_json({"removed": name})
    else:
        say(f"The key or login of {name} is forgotten.")


@command("login", "openagent auth login anthropic")
@click.argument("provider", metavar="PROVIDER")
@as_json
def login(provider: str, as_json: bool) -> None:
    """Log in with a browser. On another machine's browser, paste the address it ends at.

    Which client to be and where to log in is set under [providers.PROVIDER.oauth] in the config.
    """
    entry = complete(login_with_browser(provider))
    if as_json:
        print_json(plain(entry))
    else:
        say(f"You are logged in to {provider}.")


async def login_with_browser(provider: str) -> AuthEntry:
    async with daemon() as client:
        started = await client.request(AuthLogin(id=client.next_id(), provider=provider, cwd=os.getcwd()))
        return await browser_or_paste(started, lambda answer: _finish(client, started, answer), "or code#state")


T = TypeVar("T")


async def browser_or_paste(
    started: LoginStarted, finish: Callable[[str], Coroutine[Any, Any, T]], besides: str = ""
) -> T:
    """Whichever comes first: the browser's visit to the daemon, or a pasted line. `besides` can be pasted too."""
    click.echo(f"Open this address and allow the access:\n\n  {started.url}\n", err=True)
    if sys.stdin.isatty():
        address = ", ".join(filter(None, ("the address it ended at", besides)))
        click.echo(f"Waiting for the browser. Or paste here {address}:", err=True)
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


@command("logout", "openagent logout anthropic")
@click.argument("name", metavar="PROVIDER")
@as_json
def logout(name: str, as_json: bool) -> None:
    """Forget a provider's key or login. A login is also given back to the provider, where it offers that."""
    _remove(name, as_json)


for _command in (add, list_entries, remove, login, refresh):
    auth.add_command(_command)
