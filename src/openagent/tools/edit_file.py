"""edit_file"""

import hashlib
from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.changes import change_display
from openagent.tools.paths import inside


@tool(effect="write", summary="path")
async def edit_file(
    context: ToolContext,
    path: Annotated[str, "Relative to the workspace, or absolute inside it."],
    old: Annotated[str, "Exact text to replace, with enough around it to be unique."],
    new: Annotated[str, "What takes its place."],
    all: Annotated[bool, "Replace every occurrence."] = False,  # noqa: A002
) -> ToolOutcome:
    """Replace exact text in a file. Read the file first."""
    file = inside(context.workspace, path)
    if not file.is_file():
        return ToolOutcome(f"{path} is not a file. Use write_file to create one.", is_error=True)
    data = file.read_bytes()
    seen = context.files_read.get(str(file))
    if seen is not None and seen != hashlib.sha256(data).hexdigest():
        return ToolOutcome(f"{path} has changed since you read it. Read it again, then edit.", is_error=True)
    try:
        before = data.decode()
    except UnicodeDecodeError:
        return ToolOutcome(f"{path} is not UTF-8 text.", is_error=True)
    count = before.count(old) if old else 0
    if count == 0:
        return ToolOutcome(
            f"The text to replace is not in {path}. Read it again: it must match exactly.", is_error=True
        )
    if count > 1 and not all:
        return ToolOutcome(
            f"The text to replace is in {path} {count} times. Add lines around it, or set all.", is_error=True
        )
    after = before.replace(old, new)
    written = after.encode()
    file.write_bytes(written)
    context.files_read[str(file)] = hashlib.sha256(written).hexdigest()
    display = change_display(path, before, after)
    return ToolOutcome(f"Edited {path}: +{display['added']} −{display['removed']} lines.", display=display)
