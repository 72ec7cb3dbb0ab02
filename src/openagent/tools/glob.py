"""glob"""

import asyncio
from contextlib import suppress
from typing import Annotated

from openagent.filesystem.patterns import Glob
from openagent.filesystem.walking import Found
from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.tools.beneath import root_of
from openagent.tools.files import open_directory
from openagent.tools.walk import walk

MAX_FILES = 200


@tool(
    effect="read",
    kind="search",
    words=("look for", "looking for", "looked for"),
    summary="pattern",
    paths=("path",),
    known_as=("Glob",),
)
async def glob(
    context: ToolContext,
    pattern: Annotated[str, "Such as src/**/*.{ts,tsx}"],
    path: Annotated[str, "Where to look."] = ".",
) -> ToolOutcome:
    """Find files by name, newest first. Leaves out what .gitignore says."""
    found = await asyncio.to_thread(_find, context, pattern, path)
    text = "\n".join(found[:MAX_FILES])
    if len(found) > MAX_FILES:
        text += f"\n[{len(found) - MAX_FILES} more]"
    return ToolOutcome(text or "No file matches.", display=Display(summary=f"{len(found)} files"))


def _find(context: ToolContext, pattern: str, path: str) -> list[str]:
    with root_of(context, path) as root:
        if pattern.startswith("/"):
            pattern = "./" + root.relative(pattern)
        fd = open_directory(root, path)
        start = root.real(fd)
        prefix = "" if start == "." else start + "/"
        wanted = Glob(pattern)
        found = [
            (-_modified(file), file.path)
            for file in walk(root, fd)
            if wanted.matches(file.path[len(prefix) :]) or (prefix and wanted.matches(file.path))
        ]
    return [shown.encode(errors="surrogateescape").decode(errors="replace") for _, shown in sorted(found)]


def _modified(file: Found) -> int:
    with suppress(FileNotFoundError):
        return file.status().st_mtime_ns
    return 0
