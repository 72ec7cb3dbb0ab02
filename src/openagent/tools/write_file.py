"""write_file"""

import hashlib
from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.changes import change_display
from openagent.tools.paths import inside


@tool(effect="write", summary="path")
async def write_file(
    context: ToolContext,
    path: Annotated[str, "Relative to the workspace, or absolute inside it."],
    content: Annotated[str, "The whole new content."],
) -> ToolOutcome:
    """Create a file or replace all of it. Parent directories are made. Prefer edit_file for changes."""
    file = inside(context.workspace, path)
    if file.is_dir():
        return ToolOutcome(f"{path} is a directory.", is_error=True)
    before = file.read_bytes().decode(errors="replace") if file.exists() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode()
    file.write_bytes(data)
    context.files_read[str(file)] = hashlib.sha256(data).hexdigest()
    verb = "Created" if before is None else "Replaced"
    return ToolOutcome(f"{verb} {path}: {len(data)} bytes.", display=change_display(path, before or "", content))
