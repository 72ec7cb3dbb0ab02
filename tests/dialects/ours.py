"""Our tools, and calls of them or of anything else that has a schema."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from openagent.customizing.skills import skill_tool
from openagent.plugins.tool import Tool
from openagent.tools.agent import agent_tools
from openagent.tools.registry import built_in_tools

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


class Nobody:
    """Stands for whatever a tool would use if it ran."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nothing runs here, so nobody needs {name}")


def every_tool() -> Sequence[Tool]:
    nobody: Any = Nobody()
    return [
        *built_in_tools(memory=nobody, index=nobody, search=nobody),
        skill_tool(nobody),
        *agent_tools(nobody, []),
    ]


TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in every_tool()}
SCHEMAS = [tool.schema for tool in TOOLS.values()]


def calls_like(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a JSON Schema, as far as tools use it."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            needed = {*schema.get("required", ())}
            known = {name: calls_like(each) for name, each in schema.get("properties", {}).items()}
            return st.fixed_dictionaries(
                {name: each for name, each in known.items() if name in needed},
                optional={name: each for name, each in known.items() if name not in needed},
            )
        case "array":
            least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
            return st.lists(calls_like(schema["items"]), min_size=least, max_size=min(most, 3))
        case "string":
            return WORDS
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-5, 5000)
        case "number":
            return st.integers(1, int(schema.get("maximum", 3_600_000)))
        case _:
            raise AssertionError(f"no tool has had such an argument: {schema}")
