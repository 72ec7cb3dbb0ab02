"""write_file"""

import os
from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.beneath import Root, root_of
from openagent.tools.changes import MAX_COMPARED, change_display, previewed, refuse_outdated
from openagent.tools.changeset import Change, carry_out
from openagent.tools.files import Loaded, explained, open_file


def _preview(context: ToolContext, path: str, content: str) -> str:
    with root_of(context, path) as root:
        before = _existing(root, path)
    return previewed([(path, before.content if before else None, content.encode(errors="replace"))])


@tool(
    effect="write",
    kind="edit",
    words=("write", "writing", "wrote"),
    summary="path",
    paths=("path",),
    known_as=("Write",),
    keys={"path": "file_path"},
    preview=_preview,
)
async def write_file(
    context: ToolContext,
    path: str,
    content: Annotated[str, "The whole new content."],
) -> ToolOutcome:
    """Create or replace a whole file; parent directories are made. To change a part, use edit_file."""
    data = content.encode(errors="replace")
    with root_of(context, path) as root:
        before = _existing(root, path)
        if before is not None:
            known = before.content if before.stamp.size <= MAX_COMPARED else None
            refuse_outdated(context, path, before.real, before.stamp, known)
        carry_out(context, root, [Change(path, before.stamp if before else None, data)])
    verb = "Replaced" if before else "Created"
    display = change_display(path, before.content if before else None, data)
    return ToolOutcome(f"{verb} {path}: {len(data)} bytes.", display=display)


def _existing(root: Root, path: str) -> Loaded | None:
    """The file as it is; of a very large one only as much as is needed to know that it is too large to compare."""
    try:
        root.stat(path)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise explained(path, problem) from None
    opened = open_file(root, path)
    with os.fdopen(opened.fd, "rb", buffering=0) as file:
        return Loaded(file.read(MAX_COMPARED + 1) or b"", opened.real, opened.stamp, opened.status.st_mode)
