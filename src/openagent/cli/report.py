"""`openagent report`"""

import json
import sys
from typing import cast

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.reports import ReportFormat, ReportPeriod, ReportSend, ReportShow


@command(
    "report",
    "openagent report",
    "openagent report --period month --last --format html --output may.html",
    "openagent report --period day --json | jq '.total.cost_usd'",
    "openagent report --period week --send",
)
@click.option("--period", type=click.Choice(["day", "week", "month"]), default="week", show_default=True)
@click.option("--format", "form", type=click.Choice(["md", "html", "json"]), default="md", show_default=True)
@click.option("--last", is_flag=True, help="The one before, which is over, instead of the one that goes on.")
@click.option(
    "--all-agents", is_flag=True, help="Also what Claude Code, codex and others used here, apart from the rest."
)
@click.option("--output", metavar="FILE", help="Write there instead of to the terminal.")
@click.option("--send", is_flag=True, help="Send the last one that is over to where [report] in the settings says.")
@as_json
def report(
    *, period: str, form: str, last: bool, all_agents: bool, output: str | None, send: bool, as_json: bool
) -> None:
    """Show what a day, week or month came to: tokens, money, durations, tasks and failures."""
    chosen = cast("ReportPeriod", period)
    if send:
        sent = ask_daemon(ReportSend(id="-", period=chosen))
        if as_json:
            print_json(sent)
        else:
            say("Sent to " + "; ".join(sent.places) + ".")
        return
    form = "json" if as_json else form
    op = ReportShow(id="-", period=chosen, format=cast("ReportFormat", form), back=int(last), all_agents=all_agents)
    made = ask_daemon(op)
    if output is not None:
        _write(output, made.text or json.dumps(plain(made.report), indent=2) + "\n")
    elif form == "json":
        print_json(plain(made.report))
    else:
        sys.stdout.write(made.text)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise OpenAgentError("invalid_argument", f"{path} cannot be written: {problem.strerror}.") from None
