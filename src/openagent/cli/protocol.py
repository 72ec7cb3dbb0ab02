"""`openagent protocol`"""

import click

from openagent.cli.command import command, examples, print_json
from openagent.protocol.schema import json_schema


@click.group("protocol", epilog=examples("openagent protocol schema > protocol.json"))
def protocol() -> None:
    """What clients and the daemon say to each other."""


@command("schema", "openagent protocol schema | jq '.\"$defs\".SessionInfo'")
@click.option("--json", is_flag=True, hidden=True, expose_value=False)
def schema() -> None:
    """Print the protocol as one JSON Schema document."""
    print_json(json_schema())


protocol.add_command(schema)
