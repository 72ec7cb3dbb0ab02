"""`openagent protocol`"""

from openagent.cli.command import as_json, command, examples, group, print_json
from openagent.protocol.schema import json_schema


@group("protocol", epilog=examples("openagent protocol schema > protocol.json"))
def protocol() -> None:
    """What clients and the daemon say to each other."""


@command("schema", "openagent protocol schema | jq '.\"$defs\".SessionInfo'")
@as_json
def schema(as_json: bool) -> None:
    """Print the protocol as one JSON Schema document, with --json or without."""
    print_json(json_schema())


protocol.add_command(schema)
