"""`openagent usage`"""

import math
import time
from typing import cast, get_args

import click

from openagent.cli.command import as_json, ask_daemon, complete, examples, group, plain, print_json, say
from openagent.cli.history import reading_bar, say_left_out
from openagent.cli.metrics import agents, cost, failures
from openagent.cli.progress import with_progress
from openagent.cli.terminal import table
from openagent.client.text import cost as spent
from openagent.client.text import size, unpriced
from openagent.protocol.events import HistoryProgress
from openagent.protocol.history import AllUsageBy, UsageAll
from openagent.protocol.usage import GroupBy, UsageAsk, UsageRow

_DAY = 86400.0
_AT_ONCE = 1.0
"""Seconds."""


@group(
    "usage",
    invoke_without_command=True,
    epilog=examples(
        "openagent usage",
        "openagent usage --by day --days 7",
        "openagent usage --by session --json | jq '.total'",
        "openagent usage cost",
        "openagent usage --all-agents --by month",
    ),
)
@click.option(
    "--by",
    type=click.Choice(["model", "session", "day", "activity", "agent", "month", "project"]),
    help="One line for each of these: model, session, day or activity; with --all-agents agent, day, month, model or "
    "project.",
)
@click.option(
    "--all-agents",
    is_flag=True,
    help="Also what Claude Code, codex, gemini-cli, opencode, aider and goose used on this machine.",
)
@click.option(
    "--now", is_flag=True, help="With --all-agents: what is known within a second; new files are counted behind it."
)
@click.option("--days", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Only the last N days.")
@as_json
@click.pass_context
def usage(
    ctx: click.Context, *, by: str | None, all_agents: bool, now: bool, days: float | None, as_json: bool
) -> None:
    """Show the tokens used and the money spent, by all sessions, deleted ones included."""
    if ctx.invoked_subcommand is not None:
        return
    kinds = get_args(AllUsageBy) if all_agents else get_args(GroupBy)
    chosen: str = by or kinds[0]
    if chosen not in kinds:
        without = "Leave --all-agents out." if all_agents else "Add --all-agents."
        raise click.UsageError(
            f"By {chosen}: that is summed up {'for one agent alone' if all_agents else 'for all agents'}. {without}"
        )
    if all_agents:
        _of_all_agents(cast("AllUsageBy", chosen), days, as_json, _AT_ONCE if now else 0.0)
    else:
        _summary(chosen, days, as_json)


def _of_all_agents(by: AllUsageBy, days: float | None, as_json: bool, patience: float) -> None:
    """The days are whole ones, today among them."""
    since = time.time() - (math.ceil(days) - 1) * _DAY if days else 0.0
    op = UsageAll(id="-", by=by, since=since, patience=patience)
    report = complete(with_progress(op, HistoryProgress, reading_bar, quiet=as_json))
    if as_json:
        print_json(plain(report))
        return
    if report.rows:
        headers = (by.upper(), "REQUESTS", "INPUT", "CACHED", "OUTPUT", "REASONING", "COST")
        say(table(headers, [_row(row) for row in (*report.rows, report.total)]))
        _unpriced(report.total)
    else:
        say("No agent on this machine used anything" + (" in this time." if days else " that it kept."))
    say_left_out(report.left_out)
    if report.unread:
        say(f"\n{size(report.unread)} of their files are still being counted. Ask again, or wait for it without --now.")


def _summary(by: str, days: float | None, as_json: bool) -> None:
    since = time.time() - days * _DAY if days else 0.0
    report = ask_daemon(UsageAsk(id="-", by=cast("GroupBy", by), since=since))
    if as_json:
        print_json(plain(report))
    elif not report.rows:
        say("Nothing was used" + (" in this time." if days else " yet."))
    else:
        headers = (by.upper(), "REQUESTS", "INPUT", "CACHED", "OUTPUT", "REASONING", "COST")
        say(table(headers, [_row(row) for row in (*report.rows, report.total)]))
        _unpriced(report.total)
        if report.total.usage.estimated:
            say("\n~ Some of it was counted here, because a provider reported nothing.")


def _unpriced(total: UsageRow) -> None:
    if total.unpriced:
        say(f"\n? {unpriced(total.unpriced)}")


def _row(row: UsageRow) -> tuple[str, ...]:
    tokens = row.usage
    return (
        row.key,
        f"{row.requests:,}",
        f"{tokens.input_tokens:,}",
        f"{row.cached_percent:g} %",
        f"{'~' if tokens.estimated else ''}{tokens.output_tokens:,}",
        f"{tokens.reasoning_tokens:,}",
        spent(row.cost_usd, row.unpriced),
    )


for _command in (cost, agents, failures):
    usage.add_command(_command)
