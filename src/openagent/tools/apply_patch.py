"""apply_patch"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from openagent.plugins.files_read import Stamp
from openagent.plugins.tool import ToolContext, ToolOutcome, Touched, tool
from openagent.protocol.about import named_files
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError
from openagent.tools.beneath import Root, root_of
from openagent.tools.changes import MAX_DIFF, change_display, previewed, refuse_outdated
from openagent.tools.changeset import Change, carry_out
from openagent.tools.files import explained, load
from openagent.tools.patches import FilePatch, parse_patch
from openagent.tools.patching import added_text, patched


def _summary(arguments: Mapping[str, Any]) -> str:
    return ", ".join(named_files(str(arguments.get("patch", "")))) or "apply_patch"


def _preview(context: ToolContext, patch: str) -> str:
    with root_of(context, *named_files(patch)) as root:
        draft = _Draft(context, root)
        for file_patch in parse_patch(patch):
            draft.take(file_patch)
        return draft.preview()


@tool(
    effect="write",
    kind="edit",
    words=("patch", "patching", "patched"),
    summary=_summary,
    touches=lambda given: Touched(paths=tuple(named_files(str(given.get("patch", ""))))),
    known_as=("MultiEdit",),
    preview=_preview,
)
async def apply_patch(
    context: ToolContext,
    patch: Annotated[
        str,
        "A unified diff, or *** Begin Patch, then for each file *** Add File: PATH and + lines, "
        "*** Delete File: PATH, or *** Update File: PATH (and *** Move to: PATH) with @@ CONTEXT, then lines led by "
        "space, - or +; *** End Patch",
    ],
) -> ToolOutcome:
    """Change, add, move and delete files, all or none."""
    file_patches = parse_patch(patch)
    with root_of(context, *named_files(patch)) as root:
        draft = _Draft(context, root)
        for file_patch in file_patches:
            draft.take(file_patch)
        carry_out(context, root, draft.changes())
    return draft.outcome()


class _Known(NamedTuple):
    stamp: Stamp | None
    content: bytes | None
    mode: int | None


class _Draft:
    """How all the files will look, before any of them is touched."""

    def __init__(self, context: ToolContext, root: Root) -> None:
        self._context = context
        self._root = root
        self._before: dict[str, _Known] = {}
        self._after: dict[str, bytes | None] = {}
        self._modes: dict[str, int | None] = {}
        self._notes: list[str] = []

    def take(self, patch: FilePatch) -> None:
        path = self._root.called(self._root.relative(patch.path))
        content = self._content(path)
        if patch.action == "add":
            if content is not None:
                raise _refused(f"{path} exists already: use *** Update File.")
            self._after[path] = added_text(patch).encode(errors="replace")
            self._notes.append(f"A {path}")
            return
        if content is None:
            raise _refused(f"{path} does not exist.")
        if patch.action == "delete":
            self._after[path] = None
            self._notes.append(f"D {path}")
            return
        try:
            changed = patched(content.decode(), patch).encode(errors="replace")
        except UnicodeDecodeError:
            raise _refused(f"{path} is not UTF-8 text.") from None
        if patch.move_to:
            self._move(path, self._root.called(self._root.relative(patch.move_to)), changed)
        else:
            self._after[path] = changed
            self._notes.append(f"M {path}")

    def _move(self, path: str, target: str, content: bytes) -> None:
        if target != path and self._content(target) is not None:
            raise _refused(f"{target} exists already.")
        self._after[path] = None
        self._after[target] = content
        self._modes[target] = self._before[path].mode
        self._notes.append(f"R {path} -> {target}")

    def _content(self, path: str) -> bytes | None:
        if path in self._after:
            return self._after[path]
        if path not in self._before:
            self._before[path] = self._known(path)
        return self._before[path].content

    def _known(self, path: str) -> _Known:
        try:
            self._root.stat(path)
        except FileNotFoundError:
            return _Known(None, None, None)
        except OSError as problem:
            raise explained(path, problem) from None
        found = load(self._root, path)
        refuse_outdated(self._context, path, found.real, found.stamp, found.content)
        return _Known(found.stamp, found.content, found.mode)

    def changes(self) -> list[Change]:
        return [
            Change(path, self._before[path].stamp, after, self._modes.get(path))
            for path, after in self._after.items()
            if after != self._before[path].content
        ]

    def preview(self) -> str:
        return previewed((path, self._before[path].content, after) for path, after in self._after.items())

    def outcome(self) -> ToolOutcome:
        displays = [
            change_display(path, self._before[path].content, after or b"") for path, after in self._after.items()
        ]
        added = sum(one.added or 0 for one in displays)
        removed = sum(one.removed or 0 for one in displays)
        display = Display(
            path=", ".join(self._after),
            files=[file for one in displays for file in one.files],
            diff="\n".join(one.diff for one in displays if one.diff)[:MAX_DIFF],
            added=added,
            removed=removed,
            summary=f"+{added} −{removed}",
        )
        return ToolOutcome("\n".join(["Done:", *self._notes]), display=display)


def _refused(message: str) -> OpenAgentError:
    return OpenAgentError("tool_error", f"{message} Nothing was written.")
