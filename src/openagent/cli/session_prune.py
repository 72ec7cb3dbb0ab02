"""`openagent sessions prune`"""

import sys
import time

import click
import msgspec

from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client import Client
from openagent.client.text import ago, one_line
from openagent.protocol.sessions import SessionDelete, SessionInfo, SessionList, SessionUpdate

_DAY = 86_400.0
_PAGE = 200


@command(
    "prune",
    "openagent sessions prune --older-than 90 --dry-run",
    "openagent sessions prune --older-than 30 --archive",
    "openagent sessions prune --older-than 365 --yes",
)
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    required=True,
    help="Only sessions in which nothing was said for so many days.",
)
@click.option("--archive", is_flag=True, help="Put them away instead: lists leave them aside, and nothing is lost.")
@click.option("--dry-run", is_flag=True, help="Only say which ones.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def prune(*, days: float, archive: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete sessions that nobody used for long, or put them away. They are listed first, and you are asked.

    Left alone: what works, waits for somebody or has messages waiting, and sessions brought from other agents.
    """
    if not (dry_run or yes or sys.stdin.isatty()):
        raise click.UsageError("Nobody can be asked here: say --yes, or --dry-run to see which ones.")
    complete(_prune(days, archive=archive, dry_run=dry_run, yes=yes, as_json=as_json))


async def _prune(days: float, *, archive: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    now = time.time()
    async with daemon() as client:
        found = [info for info in await _resting(client, now - days * _DAY) if not (archive and info.archived)]
        if not as_json:
            _tell(found, now, "would be" if dry_run else "will be", "put away" if archive else "deleted for good")
        if found and not dry_run:
            if not yes:
                click.confirm("Put these away?" if archive else "Delete these for good?", abort=True, err=as_json)
            for info in found:
                await _let_go(client, info, archive)
    if as_json:
        done = {"archived" if archive else "deleted": plain(found), "dry_run": dry_run}
        print_json(done)


def _tell(found: list[SessionInfo], now: float, when: str, what: str) -> None:
    if not found:
        say("No session has rested that long.")
        return
    rows = [(info.id, ago(info.updated_at, now), str(info.message_count), one_line(info.name, 60)) for info in found]
    say(table(("ID", "ACTIVE", "MESSAGES", "NAME"), rows))
    say(f"\n{len(found):,} {'session' if len(found) == 1 else 'sessions'} {when} {what}.")


async def _let_go(client: Client, info: SessionInfo, archive: bool) -> None:
    if archive:
        await client.request(SessionUpdate(id=client.next_id(), session=info.id, archived=True))
    else:
        await client.request(SessionDelete(id=client.next_id(), session=info.id))


async def _resting(client: Client, since: float) -> list[SessionInfo]:
    """The one that rests longest first."""
    found: list[SessionInfo] = []
    asked = SessionList(id="-", roots=True, archived=None, brought=False, limit=_PAGE, before=since)
    while True:
        page = await client.request(msgspec.structs.replace(asked, id=client.next_id()))
        found += [info for info in page.sessions if info.is_at_rest]
        if page.next is None:
            return found[::-1]
        asked = msgspec.structs.replace(asked, before=page.next, before_id=page.sessions[-1].id)
