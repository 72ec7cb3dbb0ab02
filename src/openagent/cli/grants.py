"""`openagent grants`"""

import time

import click

from openagent.cli.command import (
    as_json,
    ask_daemon,
    command,
    complete,
    daemon,
    examples,
    group,
    print_json,
    say,
)
from openagent.cli.terminal import complain, table
from openagent.client.text import ago, clean, one_line
from openagent.protocol.grants import Grant, GrantsList, GrantsRevoke


@group(
    "grants",
    invoke_without_command=True,
    epilog=examples("openagent grants", "openagent grants list --session 06gx", "openagent grants revoke 3f2a91c07b"),
)
@click.pass_context
def grants(ctx: click.Context) -> None:
    """What agents may do without asking because you said so, listed when no command is given.

    Whatever you allow "for this session" or "always" is here until you take it back.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_grants)


@command("list", "openagent grants list", "openagent grants list --session 06gx", "openagent grants list --json")
@click.option("--session", default="", metavar="SESSION", help="Only what holds in this session.")
@as_json
def list_grants(session: str, as_json: bool) -> None:
    """List what is allowed, for how long, where, and who allowed it."""
    found = ask_daemon(GrantsList(id="-", session=session))
    if as_json:
        print_json(found)
    elif found.grants:
        say(table(("ID", "HOLDS", "WHAT IT ALLOWS", "WHERE", "GIVEN"), [_row(grant) for grant in found.grants]))
    else:
        say("Nothing is allowed beyond what the mode and the rules allow.")
    for notice in found.notices:
        complain(notice, 0)


def _row(grant: Grant) -> tuple[str, ...]:
    holds = "always" if grant.scope == "always" else f"session {grant.session[:12]}"
    given = ", ".join(filter(None, [clean(grant.by), ago(grant.at, time.time()) if grant.at else ""]))
    return grant.id, holds, one_line(grant.covers, 80), clean(grant.workspace) or "everywhere", given or "–"


@command("revoke", "openagent grants revoke 3f2a91c07b", "openagent grants revoke 3f2a91c07b 90ce11d2a4")
@click.argument("ids", nargs=-1, required=True, metavar="GRANT...")
@as_json
def revoke(ids: tuple[str, ...], as_json: bool) -> None:
    """Take grants back. It holds from the next decision on, also in a turn that is running."""
    complete(_revoke(ids))
    if as_json:
        print_json({"revoked": list(ids)})
    else:
        say(f"Revoked: {', '.join(map(clean, ids))}. Agents ask for it again from now on.")


async def _revoke(ids: tuple[str, ...]) -> None:
    async with daemon() as client:
        for grant in ids:
            await client.request(GrantsRevoke(id=client.next_id(), grant=grant))


for _command in (list_grants, revoke):
    grants.add_command(_command)
