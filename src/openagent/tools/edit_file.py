"""edit_file"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.errors import OpenAgentError
from openagent.tools.beneath import Root, root_of
from openagent.tools.changes import change_display, previewed, refuse_outdated
from openagent.tools.changeset import Change, carry_out
from openagent.tools.files import Loaded, load
from openagent.tools.near_match import describe_near_match

_LINES_TOLD = 8
_TELLING = 12
"""Characters of a replacement that is not found in a file by chance."""


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    old: str
    new: str
    all: bool = False


def _preview(
    context: ToolContext,
    path: str,
    old: str,
    new: str,
    *,
    all: bool,  # noqa: A002
    edits: Sequence[Edit],
) -> str:
    with root_of(context, path) as root:
        before, after = _edited(context, root, path, [*([Edit(old, new, all)] if old or new else []), *edits])
    return previewed([(path, before.content, after)])


@tool(
    effect="write",
    kind="edit",
    words=("edit", "editing", "edited"),
    summary="path",
    paths=("path",),
    known_as=("Edit", "MultiEdit"),
    keys={"path": "file_path", "old": "old_string", "new": "new_string"},
    preview=_preview,
)
async def edit_file(
    context: ToolContext,
    path: str,
    *,
    old: Annotated[str, "Exact text, unique in the file."] = "",
    new: str = "",
    all: Annotated[bool, "Replace every occurrence."] = False,  # noqa: A002
    edits: Annotated[list[Edit], "Several edits at once, in order, all or none."] = [],  # noqa: B006
) -> ToolOutcome:
    """Replace exact text in a file. Read the file first."""
    wanted = [*([Edit(old, new, all)] if old or new else []), *edits]
    if not wanted:
        return ToolOutcome("There is nothing to replace: give old and new, or edits.", is_error=True)
    with root_of(context, path) as root:
        before, after = _edited(context, root, path, wanted)
        carry_out(context, root, [Change(path, before.stamp, after)])
    display = change_display(path, before.content, after)
    changed = f"+{display.added} −{display.removed} lines" if display.added is not None else f"{len(after)} bytes"
    return ToolOutcome(f"Edited {path}: {changed}.", display=display)


def _edited(context: ToolContext, root: Root, path: str, wanted: Sequence[Edit]) -> tuple[Loaded, bytes]:
    """The file as it is, and as it will be."""
    before = load(root, path)
    refuse_outdated(context, path, before.real, before.stamp, before.content)
    try:
        text = before.content.decode()
    except UnicodeDecodeError:
        raise OpenAgentError("tool_error", f"{path} is not UTF-8 text.") from None
    for number, edit in enumerate(wanted, 1):
        which = f"Edit {number}: " if len(wanted) > 1 else ""
        text = _replaced(text, edit, path, which)
    return before, text.encode(errors="replace")


def _replaced(text: str, edit: Edit, path: str, which: str) -> str:
    """Raises OpenAgentError in words that help to find the right text."""
    old, new = edit.old, edit.new
    if not old:
        raise _refused(f"{which}The text to replace is empty. Use write_file to write a whole file.")
    if old == new:
        raise _refused(f"{which}The text to replace and its replacement are the same.")
    count = text.count(old)
    if count == 0 and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        count = text.count(old)
    if count == 0 and len(new.strip()) >= _TELLING and (made := text.find(new)) >= 0:
        line = text.count("\n", 0, made) + 1
        raise _refused(
            f"{which}The text to replace is not in {path}, but its replacement is, at line {line}: "
            "this edit may have been made already."
        )
    if count == 0:
        raise _refused(f"{which}The text to replace is not in {path}.{describe_near_match(text, edit.old)}")
    if count > 1 and not edit.all:
        places = ", ".join(map(str, _line_numbers(text, old)))
        raise _refused(
            f"{which}The text to replace is in {path} {count} times (lines {places}). Add lines around it, or set all."
        )
    return text.replace(old, new)


def _refused(message: str) -> OpenAgentError:
    return OpenAgentError("tool_error", f"{message} Nothing was written.")


def _line_numbers(text: str, old: str) -> list[str | int]:
    found: list[str | int] = []
    position = text.find(old)
    while position >= 0:
        if len(found) == _LINES_TOLD:
            return [*found, "…"]
        found.append(text.count("\n", 0, position) + 1)
        position = text.find(old, position + len(old))
    return found
