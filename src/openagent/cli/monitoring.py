"""`openagent metrics`"""

import click

from openagent.cli.command import as_json, ask_daemon, examples, group, print_json, say
from openagent.cli.metrics import agents, cost, failures
from openagent.protocol.metrics import MetricsExport, MetricsFormat


@group(
    "metrics",
    invoke_without_command=True,
    epilog=examples(
        "openagent metrics | grep openagent_turns",
        "openagent metrics | promtool check metrics",
        "openagent metrics --format influx | curl --data-binary @- 'http://localhost:8086/write?db=openagent'",
    ),
)
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["prometheus", "openmetrics", "influx"]),
    default="prometheus",
    show_default=True,
    help="Prometheus' text, OpenMetrics, or InfluxDB's line protocol.",
)
@as_json
@click.pass_context
def metrics(ctx: click.Context, *, wanted: MetricsFormat, as_json: bool) -> None:
    """Print what the daemon counted since its start, as monitoring systems collect it."""
    if ctx.invoked_subcommand is not None:
        return
    answer = ask_daemon(MetricsExport(id="-", format=wanted))
    if as_json:
        print_json(answer)
    else:
        say(answer.text.removesuffix("\n"))


for _command in (agents, cost, failures):
    metrics.add_command(_command)
