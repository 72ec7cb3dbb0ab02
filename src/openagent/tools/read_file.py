"""read_file"""

import hashlib
from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.paths import inside

MAX_LINES = 2000
MAX_LINE_LENGTH = 2000
MAX_BYTES = 10 * 1024 * 1024


@tool(effect="read", summary="path")
async def read_file(
    context: ToolContext,
    path: Annotated[str, "Relative to the workspace, or absolute inside it."],
    start: Annotated[int, "First line, from 1."] = 1,
    lines: Annotated[int, "How many lines."] = MAX_LINES,
) -> ToolOutcome:
    """Read a text file. Each line comes with its number."""
    file = inside(context.workspace, path)
    if not file.is_file():
        return ToolOutcome(f"{path} is {'a directory' if file.is_dir() else 'not there'}.", is_error=True)
    if file.stat().st_size > MAX_BYTES:
        return ToolOutcome(f"{path} is larger than 10 MB. Use the shell to look at parts of it.", is_error=True)
    data = file.read_bytes()
    if b"\0" in data[:8192]:
        return ToolOutcome(f"{path} is a binary file of {len(data)} bytes.", is_error=True)
    context.files_read[str(file)] = hashlib.sha256(data).hexdigest()
    every = data.decode(errors="replace").splitlines()
    first = max(start, 1)
    shown = every[first - 1 : first - 1 + min(max(lines, 1), MAX_LINES)]
    text = "\n".join(f"{number}\t{line[:MAX_LINE_LENGTH]}" for number, line in enumerate(shown, first))
    last = first + len(shown) - 1
    if not shown:
        text = f"{path} has {len(every)} lines." if every else f"{path} is empty."
    elif last < len(every):
        text += f"\n[lines {first} to {last} of {len(every)}]"
    return ToolOutcome(text, display={"path": path, "summary": f"{first}–{last}", "lines": len(shown)})
