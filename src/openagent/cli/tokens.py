"""`openagent access`"""

import os
import time
from typing import cast

import click

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import ago, clean
from openagent.protocol.scopes import Scope
from openagent.protocol.tokens import TokenInfo, TokensCreate, TokensList, TokensRevoke

_DAY = 86400.0


@group(
    "access",
    epilog=examples(
        "openagent access create ci --scope chat --root ~/project --days 30",
        "openagent access list",
        "openagent access revoke ci",
    ),
)
def access() -> None:
    """Let programs and other machines in over HTTP, each with a token, its scopes and the folders it works below.

    \b
    read     see sessions, files, usage
    chat     also send messages, make sessions, edit files, as far as nobody has to be asked
    approve  also allow or deny what agents ask, and choose wider modes and budgets
    admin    everything there; with --root / everything
    """


@command(
    "create",
    "openagent access create laptop --scope chat --scope approve --root ~/projects",
    "openagent access create ci --root . --days 7",
)
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
@click.option(
    "--root",
    "roots",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    multiple=True,
    metavar="DIR",
    help="A folder it works below; may be repeated. / is all. Left out: this folder, or all of the person's.",
)
@click.option("--days", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Expires after N days.")
@click.option("--person", default="", metavar="ADDRESS", help="Whose it is: it never does more than they may.")
@as_json
def create(
    name: str, *, scopes: tuple[str, ...], roots: tuple[str, ...], days: float | None, person: str, as_json: bool
) -> None:
    """Make a token. Its secret is shown this once."""
    given = cast("list[Scope]", list(scopes))
    created = ask_daemon(
        TokensCreate(
            id="-",
            name=name,
            scopes=given,
            roots=list(roots) or ([] if person else [os.getcwd()]),
            person=person,
            expires_in=days * _DAY if days else None,
        )
    )
    if as_json:
        print_json(plain(created))
    else:
        say(created.secret)
        click.echo(f"\n{_describe(created.info)}. It is not shown again: keep it where secrets are kept.", err=True)


@command("list", "openagent access list", "openagent access list --json")
@as_json
def list_tokens(as_json: bool) -> None:
    """Show the tokens there are, and the browsers that are logged in."""
    answer = ask_daemon(TokensList(id="-"))
    found = answer.tokens
    if as_json:
        print_json(answer)
    elif found:
        say(
            table(
                ("ID", "NAME", "KIND", "SCOPES", "BELOW", "CREATED", "USED", "EXPIRES"), [_row(info) for info in found]
            )
        )
    else:
        say("There are no tokens. `openagent access create NAME` makes one, `openagent web` logs a browser in.")


@command("revoke", "openagent access revoke ci")
@click.argument("token", metavar="TOKEN")
@as_json
def revoke(token: str, as_json: bool) -> None:
    """Let a token's holder in no longer. Whoever is connected with it is cut off at once."""
    ask_daemon(TokensRevoke(id="-", token=token))
    if as_json:
        print_json({"revoked": token})
    else:
        say(f"{clean(token)} is revoked.")


for each in (create, list_tokens, revoke):
    access.add_command(each)


def _row(info: TokenInfo) -> tuple[str, ...]:
    now = time.time()
    used = ago(info.last_used_at, now) if info.last_used_at else "never"
    scopes, below, made = " ".join(info.scopes), _below(info), ago(info.created_at, now)
    return (info.id, info.name, info.kind, scopes, below, made, used, _expiry(info, now))


def _below(info: TokenInfo) -> str:
    return clean(" ".join(info.roots)) or ("all their folders" if info.person else "no folder")


def _expiry(info: TokenInfo, now: float) -> str:
    if info.expires_at is None:
        return "never"
    return "expired" if info.expires_at <= now else f"in {max(round((info.expires_at - now) / _DAY), 1)} d"


def _describe(info: TokenInfo) -> str:
    scopes, expiry = ", ".join(info.scopes), _expiry(info, time.time())
    return f"Token {clean(info.name)} ({scopes}) for work below {_below(info)}, expires {expiry}"
