"""`openagent tokens`"""

import time
from typing import cast

import click

from openagent.cli.command import as_json, command, complete, daemon, examples, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import ago, clean
from openagent.protocol.op import Done
from openagent.protocol.tokens import (
    Scope,
    TokenCreated,
    TokenInfo,
    TokenList,
    TokensCreate,
    TokensList,
    TokensRevoke,
)

_DAY = 86400.0


@click.group(
    "tokens",
    epilog=examples(
        "openagent tokens create ci --scope chat --days 30", "openagent tokens list", "openagent tokens revoke ci"
    ),
)
def tokens() -> None:
    """Let programs and other machines in over HTTP, each with a token and its scopes.

    \b
    read     see sessions, files, usage
    chat     also send messages, make sessions, edit files, use the terminal
    approve  also allow or deny what agents ask, and choose wider modes and budgets
    admin    everything
    """


@command("create", "openagent tokens create laptop --scope chat --scope approve", "openagent tokens create ci --days 7")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["read", "chat", "approve", "admin"]),
    multiple=True,
    default=["read"],
    show_default=True,
    help="What it may do; may be given several times.",
)
@click.option("--days", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Expires after N days.")
@as_json
def create(name: str, scopes: tuple[str, ...], days: float | None, as_json: bool) -> None:
    """Make a token. Its secret is shown this once."""
    created = complete(_create(name, cast("list[Scope]", list(scopes)), days * _DAY if days else None))
    if as_json:
        print_json(plain(created))
    else:
        say(created.secret)
        click.echo(f"\n{_describe(created.info)}. It is not shown again: keep it where secrets are kept.", err=True)


@command("list", "openagent tokens list", "openagent tokens list --json")
@as_json
def list_tokens(as_json: bool) -> None:
    """Show the tokens there are, and the browsers that are logged in."""
    found = complete(_list()).tokens
    if as_json:
        print_json(plain(found))
    elif found:
        say(table(("ID", "NAME", "KIND", "SCOPES", "CREATED", "USED", "EXPIRES"), [_row(info) for info in found]))
    else:
        say("There are no tokens. `openagent tokens create NAME` makes one, `openagent web` logs a browser in.")


@command("revoke", "openagent tokens revoke ci")
@click.argument("token", metavar="NAME|ID")
@as_json
def revoke(token: str, as_json: bool) -> None:
    """Let a token's holder in no longer. Whoever is connected with it is cut off at once."""
    complete(_revoke(token))
    if as_json:
        print_json({"revoked": token})
    else:
        say(f"{clean(token)} is revoked.")


for each in (create, list_tokens, revoke):
    tokens.add_command(each)


def _row(info: TokenInfo) -> tuple[str, ...]:
    now = time.time()
    used = ago(info.last_used_at, now) if info.last_used_at else "never"
    return (info.id, info.name, info.kind, " ".join(info.scopes), ago(info.created_at, now), used, _expiry(info, now))


def _expiry(info: TokenInfo, now: float) -> str:
    if info.expires_at is None:
        return "never"
    return "expired" if info.expires_at <= now else f"in {max(round((info.expires_at - now) / _DAY), 1)} d"


def _describe(info: TokenInfo) -> str:
    return f"Token {clean(info.name)} ({', '.join(info.scopes)}), expires {_expiry(info, time.time())}"


async def _create(name: str, scopes: list[Scope], expires_in: float | None) -> TokenCreated:
    async with daemon() as client:
        op = TokensCreate(id=client.next_id(), name=name, scopes=scopes, expires_in=expires_in)
        return await client.request(op, TokenCreated)


async def _list() -> TokenList:
    async with daemon() as client:
        return await client.request(TokensList(id=client.next_id()), TokenList)


async def _revoke(token: str) -> None:
    async with daemon() as client:
        await client.request(TokensRevoke(id=client.next_id(), token=token), Done)
