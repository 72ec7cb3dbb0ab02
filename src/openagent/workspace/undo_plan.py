"""Which paths become what when writes are taken back, so that nothing of what others wrote is lost."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openagent.workspace.merge import MergeText
from openagent.workspace.states import Change, Draft, State, parents, state_at
from openagent.workspace.tree import Folder, Manifest

CHANGED_SINCE = "changed by others since"
IN_THE_WAY = "something else is in its place"


class Clash:
    """Both changed the same."""


CLASH = Clash()


class Step(NamedTuple):
    """One stretch of a path's history that is to be taken back, or brought again."""

    now: State | None
    """What it made of the path."""
    wanted: State | None


class Goal(NamedTuple):
    target: Manifest
    wanted: dict[bytes, State | None]
    """Where something is to change."""
    merged: list[bytes]
    others: list[tuple[bytes, str]]


def steps_back(changes: Sequence[Change]) -> list[Step]:
    """Newest first; what follows on each other without anybody in between is one step."""
    steps: list[Step] = []
    for change in changes:
        if steps and steps[-1].now == change.before:
            steps[-1] = Step(change.after, steps[-1].wanted)
        else:
            steps.append(Step(change.after, change.before))
    return steps[::-1]


def plan(
    present: Manifest,
    history: Mapping[bytes, Sequence[Step]],
    merge_text: MergeText,
    overwrite: bool = False,
) -> Goal:
    """`history` has the steps of every path, in the order in which they are taken."""
    wanted: dict[bytes, State | None] = {}
    merged: list[bytes] = []
    others: list[tuple[bytes, str]] = []
    for path, steps in sorted(history.items()):
        now = state_at(present.root, path)
        result, clean, whole = _walk(now, steps, merge_text)
        if not whole and overwrite:
            result, clean = steps[-1].wanted, True
        elif not whole:
            others.append((path, CHANGED_SINCE))
        if result != now:
            wanted[path] = result
            if not clean:
                merged.append(path)
    draft = Draft(present.root)
    blocked = _arrange(draft, present.root, wanted)
    failed = {path for path, _ in blocked}
    wanted = {path: state for path, state in wanted.items() if path not in failed}
    merged = [path for path in merged if path in wanted]
    return Goal(Manifest(draft.root, present.left_out), wanted, merged, sorted({*others, *blocked}))


def _walk(now: State | None, steps: Sequence[Step], merge_text: MergeText) -> tuple[State | None, bool, bool]:
    """As far as it goes; whether nobody else's changes were met on the way; whether it goes all the way."""
    at, clean = now, True
    for step in steps:
        if at == step.now:
            at = step.wanted
            continue
        result = three_way(at, step.now, step.wanted, merge_text)
        if isinstance(result, Clash):
            return at, clean, False
        at, clean = result, False
    return at, clean, True


def three_way(
    now: State | None, base: State | None, wanted: State | None, merge_text: MergeText
) -> "State | None | Clash":
    """From `now`, which others made of `base`, with what leads from `base` to `wanted` done to it."""
    if wanted in (now, base):
        return now
    if now is None or wanted is None:
        return CLASH
    if now.kind == wanted.kind == "folder":
        return now
    if base is None or not now.kind == base.kind == wanted.kind:
        return CLASH
    mode = wanted.mode if now.mode == base.mode else now.mode if wanted.mode in (base.mode, now.mode) else None
    oid: bytes | None = wanted.oid if now.oid == base.oid else now.oid if wanted.oid in (base.oid, now.oid) else None
    if oid is None and now.kind == "file":
        oid = merge_text(base.oid, now.oid, wanted.oid)
    return CLASH if mode is None or oid is None else State(now.kind, mode, oid)


def _arrange(draft: Draft, present: Folder, wanted: Mapping[bytes, State | None]) -> list[tuple[bytes, str]]:
    """Removes first, innermost first, then makes, outermost first. What is in the way stays, and is returned."""
    blocked: list[tuple[bytes, str]] = []
    for path in sorted(wanted, reverse=True):
        now, goal = state_at(present, path), wanted[path]
        if now is None or (goal is not None and (now.kind == "folder") == (goal.kind == "folder")):
            continue
        folder = draft.folder(path) if now.kind == "folder" else None
        if folder is None or not (folder.files or folder.folders):
            draft.put(path, None)
        elif goal is not None:
            blocked.append((path, IN_THE_WAY))
    stuck = {path for path, _ in blocked}
    for path in sorted(wanted):
        goal = wanted[path]
        if goal is None or path in stuck:
            continue
        above = [state_at(draft.root, parent) for parent in parents(path)]
        if any(state is not None and state.kind != "folder" for state in above):
            blocked.append((path, IN_THE_WAY))
        else:
            draft.put(path, goal)
    return blocked
