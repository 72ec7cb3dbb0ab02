"""list_dir"""

import os
import stat

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.tools.beneath import root_of
from openagent.tools.files import open_directory

MAX_ENTRIES = 500


@tool(
    effect="read",
    kind="read",
    words=("list", "listing", "listed"),
    summary="path",
    paths=("path",),
    known_as=("LS",),
)
async def list_dir(context: ToolContext, path: str = ".") -> ToolOutcome:
    """List a directory: directories first, then files with their sizes."""
    with root_of(context, path) as root:
        fd = open_directory(root, path)
    try:
        names = os.listdir(fd)
        lines = sorted(_line(fd, name) for name in names[: MAX_ENTRIES * 20])
    finally:
        os.close(fd)
    text = "\n".join(line for _, line in lines[:MAX_ENTRIES])
    if len(names) > MAX_ENTRIES:
        text += f"\n[{len(names) - MAX_ENTRIES} more: use glob]"
    return ToolOutcome(
        text or f"{path} is empty.", display=Display(path=path, summary=f"{len(names)} entries", entries=len(names))
    )


def _line(directory: int, name: str) -> tuple[bool, str]:
    shown = name.encode(errors="surrogateescape").decode(errors="replace")
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return False, f"{shown}/"
        if stat.S_ISLNK(status.st_mode):
            return True, f"{shown} -> {os.readlink(name, dir_fd=directory)}"
    except OSError:
        return True, shown
    return True, f"{shown} ({status.st_size})" if stat.S_ISREG(status.st_mode) else f"{shown} (special)"
