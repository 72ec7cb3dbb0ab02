"""`openagent usage`"""

import time
from typing import cast

import click

from openagent.cli.command import as_json, ask_daemon, examples, group, plain, print_json, say
from openagent.cli.metrics import agents, cost, failures
from openagent.cli.terminal import table
from openagent.protocol.usage import GroupBy, UsageAsk, UsageRow

_DAY = 86400.0


@group(
    "usage",
    invoke_without_command=True,
    epilog=examples(
        "openagent usage",
        "openagent usage --by day --days 7",
        "openagent usage --by session --json | jq '.total'",
        "openagent usage cost",
    ),
)
@click.option(
    "--by",
    type=click.Choice(["model", "session", "day", "activity"]),
    default="model",
    show_default=True,
    help="One line for each of these.",
)
@click.option("--days", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Only the last N days.")
@as_json
@click.pass_context
def usage(ctx: click.Context, by: str, days: float | None, as_json: bool) -> None:
    """Show the tokens used and the money spent, by all sessions, deleted ones included."""
    if ctx.invoked_subcommand is None:
        _summary(by, days, as_json)


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
        if report.total.unpriced:
            say(f"\n+ {report.total.unpriced} requests to models without a known price; [prices] in the config helps.")
        if report.total.usage.estimated:
            say("\n~ Some of it was counted here, because a provider reported nothing.")


def _row(row: UsageRow) -> tuple[str, ...]:
    tokens = row.usage
    cost = f"${row.cost_usd:.4f}" if row.cost_usd or not row.unpriced else "–"
    return (
        row.key,
        f"{row.requests:,}",
        f"{tokens.input_tokens:,}",
        f"{row.cached_percent:g} %",
        f"{'~' if tokens.estimated else ''}{tokens.output_tokens:,}",
        f"{tokens.reasoning_tokens:,}",
        cost + (" +" if row.cost_usd and row.unpriced else ""),
    )


for _command in (cost, agents, failures):
    usage.add_command(_command)
