"""What a session changed, to be looked through: as a whole, by turn, and apart from it what others changed since."""

import hashlib
from collections.abc import Mapping, Sequence
from secrets import token_hex

import msgspec
from msgspec import Struct

from openagent.plugins.workspace import Part, Restored
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.review import OthersChanges, Review, ReviewedFile, ReviewedTurn
from openagent.protocol.undo import ChangedFile
from openagent.workspace.diffs import MAX_PATCH, MAX_PATCHES, tree_changes, whole_patch
from openagent.workspace.git import BlobReader
from openagent.workspace.hunks import hunks_of, without
from openagent.workspace.ignored import Ignored
from openagent.workspace.journal import OTHERS, Entry, Write, writes_of
from openagent.workspace.merge import MergeText, text_merger
from openagent.workspace.states import Change, Draft, State, state_at
from openagent.workspace.trail import Trail
from openagent.workspace.tree import empty_folder, shown, write_trees
from openagent.workspace.undo import Found, alone, carry_out, repository_moves, restored
from openagent.workspace.undo_plan import Clash, Step, plan, steps_back, three_way

MOST_TURNS = 200
MOST_OTHERS = 100
"""Files of others that are told; a branch that somebody checked out has thousands."""


class _Made(Struct, frozen=True):
    """What some writes made of a path, without what others did to it in between."""

    before: State | None
    after: State | None
    writes: list[Write]


def review_of(trail: Trail, session: str, turn: int | None, path: str = "") -> Review:
    """With a `path`, this file alone and all of its patch."""
    entries = trail.journal.read(session)
    standing = [write for write in writes_of(entries) if not write.taken_by]
    by_turn: dict[int, list[Write]] = {}
    for write in standing:
        by_turn.setdefault(write.turn, []).append(write)
    ignored = Ignored(trail.store.directory, trail.store.workspace)
    ignored.among({write.change.path for write in standing})  # together: it is looked at turn by turn
    with BlobReader(trail.store.directory) as reader:
        merge_text = text_merger(trail.store.objects, reader)
        turns = [
            ReviewedTurn(number, _files(trail, _made(by_turn[number], merge_text), ignored, patches=False))
            for number in sorted(by_turn)[-MOST_TURNS:]
        ]
        made = _made(standing if turn is None else by_turn.get(turn, []), merge_text)
    if path:
        made = _one(trail, made, ignored, path)
    last = {write.change.path: write.change.after for write in standing}
    others = {shown(path) for path, after in last.items() if state_at(trail.root, path) != after}
    files = [
        msgspec.structs.replace(each, file=msgspec.structs.replace(each.file, others=each.file.path in others))
        for each in _files(trail, made, ignored, patches=True, longest=MAX_PATCHES if path else MAX_PATCH)
    ]
    if path:
        return Review(files)
    since = entries[0].at if entries else 0
    others_since = _others(trail, session, since, ignored) if entries else []
    moved = sorted({entry.turn for entry in repository_moves(entries, 0)})
    return Review(files, [each for each in turns if each.files], others_since, moved)


def _made(writes: Sequence[Write], merge_text: MergeText) -> dict[bytes, _Made]:
    by_path: dict[bytes, list[Write]] = {}
    for write in writes:
        by_path.setdefault(write.change.path, []).append(write)
    found: dict[bytes, _Made] = {}
    for path, some in by_path.items():
        before, after = some[0].change.before, alone([write.change for write in some], merge_text)
        if before != after:
            found[path] = _Made(before, after, some)
    return found


def _one(trail: Trail, made: Mapping[bytes, _Made], ignored: Ignored, path: str) -> dict[bytes, _Made]:
    """What makes up one changed file: where it was renamed, its old name belongs to it."""
    file = next((each.file for each in _files(trail, made, ignored, patches=False) if each.file.path == path), None)
    return {name: each for name, each in made.items() if file and shown(name) in (file.path, file.old_path)}


def _files(
    trail: Trail, made: Mapping[bytes, _Made], ignored: Ignored, *, patches: bool, longest: int = MAX_PATCH
) -> list[ReviewedFile]:
    states = {path: (each.before, each.after) for path, each in made.items()}
    named = {shown(path): each for path, each in made.items()}
    shared = {shown(path): why for path, each in made.items() for write in each.writes if (why := write.shared)}
    return [
        ReviewedFile(msgspec.structs.replace(file, shared=shared.get(file.path, "")), _version(file, named))
        for file in _compared(trail, states, ignored, patches=patches, longest=longest)
    ]


def _compared(
    trail: Trail,
    states: Mapping[bytes, tuple[State | None, State | None]],
    ignored: Ignored,
    *,
    patches: bool = True,
    longest: int = MAX_PATCH,
) -> list[ChangedFile]:
    drafts = Draft(empty_folder()), Draft(empty_folder())
    for path, sides in states.items():
        for draft, state in zip(drafts, sides, strict=True):
            if state is not None and state.kind != "folder":
                draft.put(path, state)
    trees = [write_trees(trail.store.objects, draft.root).hex() for draft in drafts]
    return tree_changes(trail.store.directory, trees[0], trees[1], ignored, patches=patches, longest=longest)


def _version(file: ChangedFile, made: Mapping[str, _Made]) -> str:
    here = made[file.path]
    was = made[file.old_path].before if file.old_path else here.before
    return hashlib.sha256(msgspec.json.encode((file.path, was, here.after))).hexdigest()[:16]


def _others(trail: Trail, session: str, since: int, ignored: Ignored) -> list[OthersChanges]:
    found: list[OthersChanges] = []
    for other in trail.journal.sessions():
        if other == session:
            continue
        changes: dict[bytes, tuple[State | None, State | None]] = {}
        for entry in trail.journal.read(other):
            if entry.at > since and not entry.shared:
                for change in entry.touched:
                    first, _ = changes.get(change.path, (change.before, None))
                    changes[change.path] = first, change.after
        left = {path: sides for path, sides in changes.items() if sides[0] != sides[1]}
        told = dict(sorted(left.items())[:MOST_OTHERS])
        if files := _compared(trail, told, ignored):
            name = "" if other == OTHERS else other
            found.append(OthersChanges(files, name, more=len(left) - len(told)))
    return sorted(found, key=lambda each: each.session != "")


# Taking a part of it back


def revert(trail: Trail, part: Part, found: Found) -> Restored:
    """Undone by a three-way merge where others changed the file since; where that does not merge, nothing is done."""
    standing = [write for write in writes_of(trail.journal.read(part.session)) if not write.taken_by]
    with BlobReader(trail.store.directory) as reader:
        merge_text = text_merger(trail.store.objects, reader)
        made = _made([write for write in standing if part.turn in (None, write.turn)], merge_text)
        file = _asked_for(trail, made, part)
        history, turn = _steps(trail, reader, made, file, part)
        goal = plan(trail.files, history, merge_text)
        if goal.others:
            raise _refused(f"{shown(goal.others[0][0])} was {goal.others[0][1]} in the same place")
        if not goal.wanted:
            raise _refused(f"{part.path} does not hold these changes any more")
        before = trail.store.checkpoint(trail.snapshot(), part.session, turn, "before_restore")
        touched, kept = carry_out(trail, reader, goal, found)
    if not touched:
        raise _refused(f"{part.path} was {kept[0][1] if kept else 'changed meanwhile'}")
    undo = token_hex(6)
    trail.journal.append(part.session, Entry(0, 0, "revert", turn, touched=touched, undo=undo, before=before.id))
    done = restored(touched, goal, kept=kept, others=goal.others, undo=undo, before=before.id, git=("untouched", ""))
    return msgspec.structs.replace(done, path=part.path, turn=turn)


def _asked_for(trail: Trail, made: Mapping[bytes, _Made], part: Part) -> ChangedFile:
    files = _files(trail, made, Ignored(trail.store.directory, trail.store.workspace), patches=False)
    asked = next((each for each in files if each.file.path == part.path), None)
    if asked is None:
        raise OpenAgentError(
            "not_found",
            f"There is nothing of this session in {part.path[:200]!r} that could be taken back.",
            hint="Look at what it changed again.",
        )
    if asked.version != part.version:
        raise _refused(f"The session has changed {part.path} since you looked")
    return asked.file


def _steps(
    trail: Trail, reader: BlobReader, made: Mapping[bytes, _Made], file: ChangedFile, part: Part
) -> tuple[dict[bytes, list[Step]], int]:
    """What is to be undone at each path, and the turn it counts for."""
    paths = [path for path in made if shown(path) in (file.path, file.old_path)]
    here = next(path for path in paths if shown(path) == file.path)
    turn = max(write.turn for write in made[here].writes)
    if not part.hunks:
        return {path: steps_back([write.change for write in made[path].writes]) for path in paths}, turn
    source = next((path for path in paths if shown(path) == file.old_path), here)
    before, after = made[source].before, made[here].after
    if before is None or after is None or before.kind != "file" or after.kind != "file":
        raise OpenAgentError("invalid_argument", f"{file.path} has no hunks: take back all of it, or nothing.")
    texts = [reader.read(state.oid.hex()) for state in (before, after)]
    hunks = hunks_of(whole_patch(trail.store.directory, before.oid.hex(), after.oid.hex()))
    if missing := [number for number in part.hunks if not 1 <= number <= len(hunks)]:
        raise OpenAgentError(
            "invalid_argument", f"The change to {file.path} has {len(hunks)} hunks, and none with number {missing[0]}."
        )
    wanted = State("file", after.mode, trail.store.objects.blob(without(texts[0], texts[1], hunks, set(part.hunks))))
    merge_text = text_merger(trail.store.objects, reader)
    return {here: [Step(after, wanted)]}, _turn_of(made[here], Change(here, after, wanted), merge_text) or turn


def _turn_of(made: _Made, back: Change, merge_text: MergeText) -> int:
    """The newest turn whose own change holds what is taken back, so that looking at that turn does not show it."""
    by_turn: dict[int, list[Change]] = {}
    for write in made.writes:
        by_turn.setdefault(write.turn, []).append(write.change)
    for turn in sorted(by_turn, reverse=True) if len(by_turn) > 1 else ():
        own = alone(by_turn[turn], merge_text)
        result = three_way(own, back.before, back.after, merge_text)
        if not isinstance(result, Clash) and result != own and not _is_new(result, by_turn[turn], back, merge_text):
            return turn
    return 0


def _is_new(result: State | None, changes: Sequence[Change], back: Change, merge_text: MergeText) -> bool:
    """Whether what would be taken back was there before the turn already: then it is not the turn's."""
    base = changes[0].before
    without_it = three_way(base, back.before, back.after, merge_text)
    return not isinstance(without_it, Clash) and without_it != base and result is not None


def _refused(why: str) -> OpenAgentError:
    return OpenAgentError("conflict", f"{why}. Nothing was taken back.", hint="Look at what it changed again.")
