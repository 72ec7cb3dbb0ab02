"""The protocol as one JSON Schema document: what the web app's types are generated from."""

from typing import Any

import msgspec

from openagent.protocol.events import AnyEvent
from openagent.protocol.ops import ALL_OPS, AnyOp
from openagent.protocol.version import PROTOCOL_VERSION

_REF = "#/$defs/{name}"


def json_schema() -> dict[str, Any]:
    results = list(dict.fromkeys(op.result() for op in ALL_OPS))
    (any_op, event, *result_refs), definitions = msgspec.json.schema_components(
        [AnyOp, AnyEvent, *results], ref_template=_REF
    )
    by_op = {op.tag: result_refs[results.index(op.result())] for op in ALL_OPS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "OpenAgent protocol",
        "version": PROTOCOL_VERSION,
        "$defs": {
            **definitions,
            "Op": any_op,
            "AnyEvent": event,
            "Results": {"type": "object", "properties": by_op, "required": sorted(by_op)},
        },
        "oneOf": [{"$ref": "#/$defs/Op"}, {"$ref": "#/$defs/AnyEvent"}],
    }
