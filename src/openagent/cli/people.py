"""`openagent people`, `openagent teams`, `openagent share`"""

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import ago, clean
from openagent.protocol.people import (
    AccessTold,
    Invited,
    Limits,
    PeopleAdd,
    PeopleInvite,
    PeopleList,
    PeopleRemove,
    PeopleUpdate,
    PersonInfo,
    Role,
    SessionAccess,
    SessionJoin,
    SessionShare,
    TeamInfo,
    TeamsCreate,
    TeamsList,
    TeamsRemove,
    TeamsUpdate,
)

_ROLES = click.Choice(["admin", "member", "viewer"])
_DAY = 86400.0
F = TypeVar("F", bound=Callable[..., Any])


@group(
    "people",
    epilog=examples(
        "openagent people list",
        "openagent people add ann@example.com --role admin",
        "openagent people invite ann@example.com",
        "openagent people disable ann@example.com",
    ),
)
def people() -> None:
    """Say who works on this installation beside you, and what they may do.

    \b
    admin   everything, everywhere
    member  works in their own folder and their teams'
    viewer  looks, and changes nothing
    """


@command("list", "openagent people list", "openagent people list --json")
@as_json
def list_people(as_json: bool) -> None:
    """Show the people there are."""
    answer = ask_daemon(PeopleList(id="-"))
    if as_json:
        print_json(answer)
    elif answer.people:
        say(table(("ADDRESS", "NAME", "ROLE", "TEAMS", "LAST LOGIN", "FOLDER"), [_row(each) for each in answer.people]))
    else:
        say("There is nobody but you. `openagent people add ADDRESS` adds somebody.")


@command("add", "openagent people add ann@example.com", "openagent people add bob@example.com --role viewer")
@click.argument("email", metavar="ADDRESS")
@click.option("--name", default="", help="What to call them.")
@click.option("--role", type=_ROLES, default="member", show_default=True, help="What they may do.")
@as_json
def add(email: str, name: str, role: str, as_json: bool) -> None:
    """Add a person and print an invitation link. It works once, for 7 days; they choose a password there.

    No link is printed when people sign in with an identity provider (`people.issuer`).
    """
    _tell_invited(ask_daemon(PeopleAdd(id="-", email=email, name=name, role=cast("Role", role))), as_json)


@command("invite", "openagent people invite ann@example.com")
@click.argument("person", metavar="ADDRESS")
@as_json
def invite(person: str, as_json: bool) -> None:
    """Print a new invitation link, for example after a forgotten password. It replaces the previous link.

    Choosing a new password signs the person out everywhere and revokes their tokens.
    """
    _tell_invited(ask_daemon(PeopleInvite(id="-", person=person)), as_json)


@command("role", "openagent people role ann@example.com admin")
@click.argument("person", metavar="ADDRESS")
@click.argument("role", type=_ROLES)
@as_json
def change_role(person: str, role: str, as_json: bool) -> None:
    """Change what a person may do, at once."""
    _tell(ask_daemon(PeopleUpdate(id="-", person=person, role=cast("Role", role))), as_json)


@command("disable", "openagent people disable ann@example.com")
@click.argument("person", metavar="ADDRESS")
@click.option("--again", is_flag=True, hidden=True)
@as_json
def disable(person: str, again: bool, as_json: bool) -> None:
    """Block a person. Their connections are closed at once; a turn that is running continues to its end."""
    _tell(ask_daemon(PeopleUpdate(id="-", person=person, disabled=not again)), as_json)


@command("enable", "openagent people enable ann@example.com")
@click.argument("person", metavar="ADDRESS")
@as_json
def enable(person: str, as_json: bool) -> None:
    """Unblock a person who was disabled."""
    _tell(ask_daemon(PeopleUpdate(id="-", person=person, disabled=False)), as_json)


@command("remove", "openagent people remove ann@example.com", "openagent people remove ann@example.com --yes")
@click.argument("person", metavar="ADDRESS")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def remove(person: str, yes: bool, as_json: bool) -> None:
    """Remove a person. They are signed out at once, and their tokens and keys are deleted.

    Their sessions and folder stay under their name. Adding the same address later creates a new person.
    """
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("Without a terminal to confirm in, --yes is required.")
        click.confirm(
            f"Remove {clean(person)}? Their tokens are revoked; sessions and folder stay.", abort=True, err=as_json
        )
    ask_daemon(PeopleRemove(id="-", person=person))
    if as_json:
        print_json({"removed": person})
    else:
        say(f"Removed {clean(person)}. Their sessions and folder stay under their name.")


def _limit_options(function: F) -> F:
    """Named as the fields of `Limits`."""
    for option in (
        click.option("--day-usd", type=click.FloatRange(min=0), metavar="USD", help="Dollars a day, in UTC."),
        click.option("--day-tokens", type=click.IntRange(min=0), metavar="N", help="Tokens a day, in UTC."),
        click.option(
            "--turns-at-once", type=click.IntRange(min=1), metavar="N", help="Turns that run at the same time."
        ),
        click.option(
            "--turns-a-minute", type=click.IntRange(min=0), metavar="N", help="Turns that may begin in a minute."
        ),
    ):
        function = option(function)
    return function


@command(
    "limit",
    "openagent people limit ann@example.com --day-usd 20 --turns-a-minute 10",
    "openagent people limit ann@example.com",
)
@click.argument("person", metavar="ADDRESS")
@_limit_options
@as_json
def limit_person(person: str, *, as_json: bool, **limits: Any) -> None:
    """Limit what a person may use. What is not given is not limited any more."""
    info = ask_daemon(PeopleUpdate(id="-", person=person, limits=Limits(**limits)))
    _tell_limits(info.email, info, as_json)


@command("limit", "openagent teams limit core --day-tokens 5000000")
@click.argument("team")
@_limit_options
@as_json
def limit_team(team: str, *, as_json: bool, **limits: Any) -> None:
    """Limit what a team may use together. What is not given is not limited any more."""
    info = ask_daemon(TeamsUpdate(id="-", team=team, limits=Limits(**limits)))
    _tell_limits(info.name, info, as_json)


@group("teams", epilog=examples("openagent teams create core", "openagent teams update core --add ann@example.com"))
def teams() -> None:
    """Teams of people: each with a folder of its own, and sessions that are shared with all of it."""


@command("list", "openagent teams list", "openagent teams list --json")
@as_json
def list_teams(as_json: bool) -> None:
    """Show the teams there are."""
    answer = ask_daemon(TeamsList(id="-"))
    if as_json:
        print_json(answer)
    elif answer.teams:
        rows = [(clean(each.name), clean(", ".join(each.members)), clean(each.folder)) for each in answer.teams]
        say(table(("TEAM", "MEMBERS", "FOLDER"), rows))
    else:
        say("There are no teams. `openagent teams create NAME` makes one.")


@command("create", "openagent teams create core")
@click.argument("name")
@as_json
def create_team(name: str, as_json: bool) -> None:
    """Make a team."""
    _tell_team(ask_daemon(TeamsCreate(id="-", name=name)), as_json)


@command("update", "openagent teams update core --add ann@example.com --remove bob@example.com")
@click.argument("team")
@click.option("--add", multiple=True, metavar="ADDRESS", help="Who comes in; may be given several times.")
@click.option("--remove", multiple=True, metavar="ADDRESS", help="Who leaves; may be given several times.")
@as_json
def update_team(team: str, add: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Change who is in a team."""
    _tell_team(ask_daemon(TeamsUpdate(id="-", team=team, add=list(add), remove=list(remove))), as_json)


@command("remove", "openagent teams remove core")
@click.argument("team")
@as_json
def remove_team(team: str, as_json: bool) -> None:
    """Dissolve a team. Its folder stays where it is."""
    ask_daemon(TeamsRemove(id="-", team=team))
    if as_json:
        print_json({"removed": team})
    else:
        say(f"The team {clean(team)} is no more.")


@command(
    "share",
    "openagent share 4f2a",
    "openagent share 4f2a --team core",
    "openagent share 4f2a --link read --days 2",
    "openagent share 4f2a --off",
    "openagent share --join share_…",
)
@click.argument("session", metavar="SESSION", required=False)
@click.option("--team", default=None, help="A team of yours that may work in it.")
@click.option(
    "--link", type=click.Choice(["read", "write"]), help="Make a link that lets whoever has it read, or work."
)
@click.option("--days", type=click.FloatRange(min=0, min_open=True), metavar="N", help="The link works for N days.")
@click.option("--off", is_flag=True, help="Take back what was shared, links and all.")
@click.option("--join", metavar="LINK", help="Open what somebody shares with you by a link.")
@as_json
def share(
    session: str | None,
    *,
    team: str | None,
    link: str | None,
    days: float | None,
    off: bool,
    join: str | None,
    as_json: bool,
) -> None:
    """Share a session with a team of yours, or by a link with whoever has it. Others see nothing of it.

    With a session alone: say who may open it now.
    """
    if join:
        info = ask_daemon(SessionJoin(id="-", link=join))
        if as_json:
            print_json(plain(info))
        else:
            say(f"`openagent attach {info.id}` opens {clean(info.name) or 'it'}.")
        return
    if not session:
        raise click.UsageError("Which session, and with whom? Give --team, --link or --off.")
    if not (team or link or off):
        _tell_access(ask_daemon(SessionAccess(id="-", session=session)), as_json)
        return
    shared = ask_daemon(
        SessionShare(
            id="-",
            session=session,
            team="" if off else team,
            link="read" if link == "read" else "write" if link else "",
            expires_in=days * _DAY if days else None,
            unlink=off,
        )
    )
    if as_json:
        print_json(plain(shared))
    elif shared.link:
        say(shared.link)
        click.echo(
            "\n`openagent share --join LINK` opens it for whoever is logged in. It is shown this once.", err=True
        )
    else:
        say("It is yours alone again." if off else f"It is shared with the team {clean(team or '')}.")


for each in (list_people, add, invite, change_role, disable, enable, remove, limit_person):
    people.add_command(each)
for each in (list_teams, create_team, update_team, remove_team, limit_team):
    teams.add_command(each)


def _row(info: PersonInfo) -> tuple[str, ...]:
    now = time.time()
    role = f"{info.role} (disabled)" if info.disabled else info.role
    invited = "" if not info.invited_until else "invited" if info.invited_until > now else "link expired"
    seen = ago(info.last_login_at, now) if info.last_login_at else invited or "never"
    return (clean(info.email), clean(info.name), role, clean(", ".join(info.teams)), seen, clean(info.folder))


def _tell_access(told: AccessTold, as_json: bool) -> None:
    if as_json:
        print_json(plain(told))
        return
    owner = told.owner.email if told.owner else "who has the machine"
    say(f"Of {clean(owner)}{f', shared with the team {clean(told.team.name)}' if told.team else ''}.")
    for guest in told.guests:
        say(f"{clean(guest.who.email)} {'works in it' if guest.writes else 'reads it'} by a link.")
    if told.links:
        say(f"Links that open it: {len(told.links)}. `openagent share SESSION --off` takes them back.")
    if told.here:
        say(f"Here now: {clean(', '.join(told.here))}.")


def _tell_limits(name: str, info: PersonInfo | TeamInfo, as_json: bool) -> None:
    limits = info.limits
    said = [
        *([f"${limits.day_usd:g} a day"] if limits.day_usd is not None else []),
        *([f"{limits.day_tokens:,} tokens a day"] if limits.day_tokens is not None else []),
        *([f"{limits.turns_a_minute} turns a minute"] if limits.turns_a_minute is not None else []),
        *([f"{limits.turns_at_once} turns at once"] if limits.turns_at_once is not None else []),
    ]
    if as_json:
        print_json(plain(info))
    else:
        say(f"{clean(name)} may use {', '.join(said) or 'as much as they want'}.")


def _tell(info: PersonInfo, as_json: bool) -> None:
    if as_json:
        print_json(plain(info))
    else:
        role = "is not let in any more" if info.disabled else f"is {info.role}, and works in {clean(info.folder)}"
        say(f"{clean(info.email)} {role}.")


def _tell_invited(invited: Invited, as_json: bool) -> None:
    _tell(invited, as_json)
    if as_json:
        return
    if invited.link:
        say(invited.link)
        click.echo("\nSend them this link. It works once, for 7 days, and is not shown again.", err=True)
    if invited.note:
        click.echo(clean(invited.note), err=True)


def _tell_team(team: TeamInfo, as_json: bool) -> None:
    if as_json:
        print_json(plain(team))
    else:
        say(f"{clean(team.name)}: {clean(', '.join(team.members)) or 'nobody'}; works in {clean(team.folder)}.")
