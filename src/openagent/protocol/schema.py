"""The protocol as one JSON Schema document: what the web app's types are generated from."""

from typing import Any

import msgspec

from openagent.protocol.events import AnyEvent
from openagent.protocol.ops import RESULTS, AnyOp
from openagent.protocol.version import PROTOCOL_VERSION

_REF = "#/$defs/{name}"


def json_schema() -> dict[str, Any]:
    results = list(dict.fromkeys(RESULTS.values()))
    (op, event, *result_refs), definitions = msgspec.json.schema_components(
        [AnyOp, AnyEvent, *results], ref_template=_REF
    )
    by_op = {str(kind.__struct_config__.tag): result_refs[results.index(result)] for kind, result in RESULTS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "OpenAgent protocol",
        "version": PROTOCOL_VERSION,
        "$defs": {
            **definitions,
            "Op": op,
            "AnyEvent": event,
            "Results": {"type": "object", "properties": by_op, "required": sorted(by_op)},
        },
        "oneOf": [{"$ref": "#/$defs/Op"}, {"$ref": "#/$defs/AnyEvent"}],
    }
