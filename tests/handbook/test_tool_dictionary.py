"""docs/tool_dictionary.md beside the tools there are."""

import re
from collections.abc import Iterator

from scripts.words import every_tool

from .pages import ROOT

PAGE = (ROOT / "docs" / "tool_dictionary.md").read_text()
OFFERED_TO_NO_MODEL = {"flow", "mcp_sampling"}
"""A flow's own session runs the one; the other stands for a request of an MCP server."""


def rows(title: str) -> Iterator[list[str]]:
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def code(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def test_every_tool_is_told_of_with_its_arguments_and_its_effect() -> None:
    told = {row[0].strip("` "): (code(row[1]), row[3].strip()) for row in rows("Ours")}
    there = {
        tool.name: (set(tool.schema.parameters["properties"]), tool.effect)
        for tool in every_tool()
        if tool.name not in OFFERED_TO_NO_MODEL
    }
    assert told == there


def test_nothing_that_is_here_is_told_as_missing() -> None:
    assert "not yet" not in PAGE
    assert {row[0].strip("` ") for row in rows("Beside others")} <= {tool.name for tool in every_tool()}
    missing = PAGE.partition("OpenAgent has not\n")[2]
    assert missing
    known = {tool.name for tool in every_tool()}
    assert {name for line in missing.splitlines() for name in code(line) if line.endswith(f"`{name}` |")} <= known
