"""The web app's types, written from the protocol's JSON Schema: `--write` renews, `--check` fails when they differ."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from openagent.protocol.events import AnyEvent
from openagent.protocol.schema import json_schema
from openagent.protocol.version import PROTOCOL_VERSION

TARGET = Path(__file__).parent.parent / "web" / "src" / "protocol" / "types.ts"
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
HEAD = "// Written by scripts/web_types.py from the protocol's JSON Schema. `make docs` renews it."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    written = render(json_schema()["$defs"])
    if parser.parse_args().write:
        TARGET.write_text(written)
    elif not TARGET.exists() or TARGET.read_text() != written:
        print("web/src/protocol/types.ts differs from the protocol: run make docs.")
        return 1
    return 0


def render(definitions: dict[str, Any]) -> str:
    blocks = [HEAD, f"export const PROTOCOL_VERSION = {json.dumps(PROTOCOL_VERSION)}"]
    blocks += [declaration(name, schema) for name, schema in sorted(definitions.items())]
    blocks.append(by_tag("Ops", "op", definitions["Op"], definitions))
    blocks.append(by_tag("Events", "type", definitions["AnyEvent"], definitions))
    live = sorted(str(kind.__struct_config__.tag) for kind in AnyEvent.__args__ if not kind.durable)
    blocks.append(
        "/** Events that are live only: they take no number of their own. */\n"
        f"export const LIVE_ONLY: ReadonlySet<string> = new Set({json.dumps(live)})"
    )
    return "\n\n".join(blocks) + "\n"


def declaration(name: str, schema: dict[str, Any]) -> str:
    comment = f"/** {' '.join(schema['description'].split())} */\n" if "description" in schema else ""
    if "properties" not in schema:
        return f"{comment}export type {name} = {expression(schema)}"
    if not schema["properties"]:
        return f"{comment}export type {name} = Record<string, never>"
    return f"{comment}export interface {name} {fields(schema)}"


def fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    lines = [
        f"  {name if name.isidentifier() else json.dumps(name)}{'' if name in required else '?'}: {expression(value)}"
        for name, value in schema["properties"].items()
    ]
    return "{\n" + "\n".join(lines) + "\n}"


def expression(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": reference}:
            written = reference.rpartition("/")[2]
        case {"anyOf": choices}:
            written = " | ".join(expression(choice) for choice in choices)
        case {"enum": values}:
            written = " | ".join(json.dumps(value) for value in values)
        case {"type": "array", "prefixItems": items}:
            written = f"[{', '.join(expression(item) for item in items)}]"
        case {"type": "array"}:
            inner = expression(schema.get("items", {}))
            written = f"({inner})[]" if "|" in inner else f"{inner}[]"
        case {"type": "object"}:
            written = f"Record<string, {expression(schema.get('additionalProperties', {}))}>"
        case {"type": kind}:
            written = SIMPLE[kind]
        case _:
            written = "unknown"
    return written


def by_tag(name: str, tag: str, union: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A table from the tag that travels to the type it stands for."""
    names = [choice["$ref"].rpartition("/")[2] for choice in union["anyOf"]]
    rows = [f"  {json.dumps(definitions[kind]['properties'][tag]['enum'][0])}: {kind}" for kind in names]
    return f"export interface {name} {{\n" + "\n".join(rows) + "\n}"


if __name__ == "__main__":
    sys.exit(main())
