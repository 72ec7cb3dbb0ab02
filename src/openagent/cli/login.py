"""`openagent login`"""

import sys
from urllib.parse import urlsplit

import click

from openagent.cli.auth import key_stored, login_with_browser, read_key, store_key
from openagent.cli.choose_model import can_ask, choose, tell, use_server
from openagent.cli.command import as_json, command, complete, plain, print_json, say
from openagent.cli.team_login import is_server, log_in
from openagent.protocol.auth import AuthEntry
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.setup import ModelChosen


@command(
    "login",
    "openagent login",
    "openagent login anthropic",
    "pass show openai | openagent login openai",
    "openagent login http://127.0.0.1:8000/v1",
    "openagent login https://agents.example.com",
    "openagent logout openai",
)
@click.argument("provider", metavar="PROVIDER | URL", required=False)
@click.option("--key", "with_key", is_flag=True, help="Store an API key, even where a login with a browser is set up.")
@click.option("--no-test", is_flag=True, help="Store the key without asking the provider.")
@as_json
def login_or_key(provider: str | None, with_key: bool, no_test: bool, as_json: bool) -> None:
    """Choose what answers: a key or a model server that is here already, a key to paste, a login, an offline model.

    With a PROVIDER: log in with a browser where the config says how, with its API key otherwise. The key is typed
    unseen or read from stdin, and kept encrypted on this machine.

    With the address of a model server, such as http://127.0.0.1:8000/v1: use the model there.

    With the address of a team's server: log in there, by a code that you confirm in a browser.
    """
    if provider and is_server(provider):
        _at_address(provider, as_json)
        return
    if provider and "://" in provider:
        raise click.UsageError("An address begins with http:// or https://.")
    if not provider:
        if not can_ask():
            raise click.UsageError("Which provider? Name one, such as anthropic, openai or gemini.")
        chosen = choose()
        _tell(chosen, as_json)
        return
    entry = None if with_key or not sys.stdin.isatty() else complete(_login_if_set_up(provider))
    if entry is None:
        key = read_key(provider)
        if not key:
            raise click.UsageError(f"There is no key for {provider}: nothing was typed, or came on stdin.")
        entry = store_key(provider, key, replace=True, test=not no_test)
    if as_json:
        print_json(plain(entry))
    elif entry.kind == "oauth":
        say(f"You are logged in to {provider}.")
    else:
        say(key_stored(entry.name, tested=not no_test))


def _at_address(url: str, as_json: bool) -> None:
    """A team's server, which has no path, or a model server."""
    if not urlsplit(url).path.strip("/"):
        try:
            return log_in(url, as_json)
        except OpenAgentError as problem:
            if problem.info.code not in ("not_found", "provider_error"):
                raise
    return _tell(use_server(url), as_json)


def _tell(chosen: ModelChosen, as_json: bool) -> None:
    if as_json:
        print_json(plain(chosen))
    else:
        tell(chosen)


async def _login_if_set_up(provider: str) -> AuthEntry | None:
    try:
        return await login_with_browser(provider)
    except OpenAgentError as problem:
        if problem.info.code == "config_error":  # the config names no address to log in at
            return None
        raise
