"""`openagent agents`"""

import time

import click

from openagent.cli.ask_again import ask_again
from openagent.cli.command import (
    Group,
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
from openagent.cli.terminal import YELLOW, paint, table
from openagent.client.text import ago, clean, cost, one_line
from openagent.protocol.agents import AgentInfo, AgentsList
from openagent.protocol.conversation import AsksList, PendingAsk
from openagent.protocol.words import in_words

_BRANCH = "└─" + "──" * 20


class _Group(Group):
    """`openagent agents SESSION` is `openagent agents list SESSION`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            return super().resolve_command(ctx, ["list", *args])
        return super().resolve_command(ctx, args)


@group(
    "agents",
    cls=_Group,
    invoke_without_command=True,
    epilog=examples("openagent agents", "openagent agents 06gx --json", "openagent agents cancel 06gy"),
)
@click.pass_context
def agents(ctx: click.Context) -> None:
    """Sessions and the sub-agents that work for them, as a tree: status, cost, edits that have not come back."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_agents)


@command("list", "openagent agents list", "openagent agents list 06gx", "openagent agents list --json")
@click.argument("session", default="", metavar="[SESSION]")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Trees, at most.")
@as_json
def list_agents(session: str, limit: int, as_json: bool) -> None:
    """List trees of agents, the ones last active first; with a SESSION, the tree it belongs to."""
    answer = ask_daemon(AgentsList(id="-", session=session, limit=limit))
    found = answer.agents
    if as_json:
        print_json(answer)
        return
    if not found:
        say("No agent has called a sub-agent yet. `openagent templates list` shows which there are.")
        return
    now = time.time()
    say(table(("AGENT", "STATUS", "ACTIVE", "COST", "ID", "TASK"), [_row(each, now) for each in found]))
    for each in found:
        if each.copy and not each.running:
            where = f"{each.session.template} ({each.session.id}) left edits in the copy {each.copy}"
            look = f"`openagent workspaces diff {each.copy}`, `openagent workspaces merge {each.copy}`"
            say(paint(f"! {clean(where)}: {look}", YELLOW))


def _row(each: AgentInfo, now: float) -> tuple[str, ...]:
    info = each.session
    name = f"{_BRANCH[: each.depth * 2]} {info.template or 'agent'}".strip()
    status = in_words(info.status)
    if each.depth and not each.running:
        status = in_words(each.ended or "not begun")
    elif each.running and each.background:
        status = f"{status} in background"
    spent = cost(each.tree_cost_usd, each.tree_unpriced) if each.tree_cost_usd or each.tree_unpriced else "–"
    task = each.detail if each.running and each.detail else info.name
    return name, status, ago(info.updated_at, now), spent, info.id, one_line(task, 50)


@command("cancel", "openagent agents cancel 06gy")
@click.argument("session", metavar="SESSION")
@as_json
def cancel(session: str, as_json: bool) -> int:
    """End what an agent is doing. Its caller goes on without it; those that it waits for end too."""
    was_running = complete(_cancel(session))
    if as_json:
        print_json({"cancelled": was_running})
    else:
        say("Cancelled." if was_running else "It was not at work.")
    return 0 if was_running else 1


async def _cancel(session: str) -> bool:
    async with daemon() as client:
        return await client.cancel(session)


@command("waiting", "openagent agents waiting", "openagent agents waiting 06gx --json")
@click.argument("session", default="", metavar="[SESSION]")
@as_json
def waiting(session: str, as_json: bool) -> None:
    """What agents wait for you to say, the longest waiting first. `openagent attach SESSION` answers."""
    answer = ask_daemon(AsksList(id="-", session=session))
    if as_json:
        print_json(answer)
        return
    if not answer.asks and not answer.lapsed:
        say("Nothing waits for you.")
        return
    now = time.time()
    rows = [_waiting_row(each, now) for each in (*answer.asks, *answer.lapsed)]
    say(table(("SESSION", "WAITS", "FOR"), rows))
    for name in dict.fromkeys(each.session for each in answer.lapsed):
        say(paint(f"! Nobody answered {name} in time: `openagent agents ask-again {name}` has it asked again.", YELLOW))


def _waiting_row(each: PendingAsk, now: float) -> tuple[str, ...]:
    if each.permission is not None:
        wanted = f"permission ({each.permission.risk} risk): {each.permission.summary}"
    else:
        wanted = f"an answer: {each.question.text if each.question else ''}"
    since = "nobody answered" if each.lapsed_at is not None else ago(each.at, now)
    return each.session, since, one_line(wanted, 90)


for _command in (list_agents, waiting, ask_again, cancel):
    agents.add_command(_command)
