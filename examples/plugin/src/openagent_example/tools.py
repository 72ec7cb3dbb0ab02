"""A tool is an async function. Its name, description and arguments are read from it."""

from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display


@tool(
    effect="read",
    kind="read",
    words=("count the words of", "counting the words of", "counted the words of"),
    summary="path",
    paths=("path",),
)
async def word_count(context: ToolContext, path: Annotated[str, "Relative to the workspace."]) -> ToolOutcome:
    """Count the words of a text file."""
    file = (context.workspace / path).resolve()
    if not file.is_relative_to(context.workspace.resolve()) or not file.is_file():
        return ToolOutcome(f"{path} is not a file in the workspace.", is_error=True)
    count = len(file.read_text(errors="replace").split())
    return ToolOutcome(f"{path} has {count} words.", display=Display(summary=f"{count} words"))
