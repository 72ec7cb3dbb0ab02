"""Taking a session's writes back, bringing them again, and showing what they were."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from openagent.filesystem.beneath import opened_root
from openagent.plugins.workspace import LastUndo, Restored
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.undo import ChangedFile
from openagent.workspace.apply import Apply
from openagent.workspace.diffs import tree_changes
from openagent.workspace.git import BlobReader
from openagent.workspace.ignored import Ignored
from openagent.workspace.journal import Entry, Write, writes_of
from openagent.workspace.merge import text_merger
from openagent.workspace.repository_restore import restore_repository
from openagent.workspace.scan import SPECIAL
from openagent.workspace.states import Change, Draft, State, inside, parents, state_at
from openagent.workspace.trail import Trail
from openagent.workspace.tree import Folder, empty_folder, shown, shown_left_out, write_trees
from openagent.workspace.undo_plan import Clash, Goal, Step, plan, steps_back, three_way

Git = tuple[Literal["untouched", "restored", "refused"], str]
Found = Callable[[Sequence[Change]], None]
"""Called with what others changed meanwhile."""


class Request(Struct, frozen=True):
    session: str
    turn: int
    undo: str
    git_state: bool
    overwrite: bool
    paths: frozenset[str]
    """Files and folders, as they are shown; empty: everything."""

    def concerns(self, path: str) -> bool:
        return not self.paths or any(_holds(each, path) for each in self.paths)


def take_back(trail: Trail, wish: Request, found: Found) -> Restored | None:
    """None when the session wrote nothing from that turn on that still stands."""
    entries = trail.journal.read(wish.session)
    standing = [write for write in writes_of(entries) if write.turn >= wish.turn and not write.taken_by]
    moved = repository_moves(entries, wish.turn)
    lost = _lost(entries, wish)
    if wish.paths:
        _check(trail, wish, standing, lost)
        standing = [write for write in standing if wish.concerns(shown(write.change.path))]
    if not standing and not lost and not (moved and wish.git_state):
        return None
    instead = _instead_of_special(entries, wish.turn, standing)
    left = {write.change.path for write in standing if inside(write.change.path, instead)}
    lost |= dict.fromkeys(left, "left as it is, where a pipe or a socket was, which undo cannot make again")
    standing = [write for write in standing if write.change.path not in left]
    own = [write for write in standing if not write.shared or wish.overwrite]
    unsure = {write.change.path: write.shared for write in standing if write.shared} if not wish.overwrite else {}
    by_path: dict[bytes, list[Change]] = {}
    for write in own:
        by_path.setdefault(write.change.path, []).append(write.change)
    history = {path: steps_back(changes) for path, changes in by_path.items()}
    with BlobReader(trail.store.directory) as reader:
        goal = plan(trail.files, history, text_merger(trail.store.objects, reader), overwrite=wish.overwrite)
        before = trail.store.checkpoint(trail.snapshot(), wish.session, wish.turn, "before_restore")
        touched, kept = carry_out(trail, reader, goal, found)
        git: Git = "untouched", ""
        was = b""
        if wish.git_state:
            was = trail.repository_tree
            git = _repository_back(trail, reader, wish, moved)
    failed = {path for path, _ in (*goal.others, *kept)}
    restored_to = {change.path for change in touched if change.after is not None}
    kept += [(path, why) for path, why in lost.items() if path not in failed and path not in restored_to]
    taken = [(write.number, write.change.path) for write in own if write.change.path not in failed]
    others = [
        *goal.others,
        *((path, why) for path, why in unsure.items() if path not in by_path),
    ]
    entry = Entry(0, 0, "rewind", wish.turn, touched=touched, undo=wish.undo, taken=taken, before=before.id)
    entry.repository = was if git[0] == "restored" else b""
    trail.journal.append(wish.session, entry)
    return restored(touched, goal, kept=kept, others=others, undo=wish.undo, before=before.id, git=git)


def _lost(entries: Sequence[Entry], wish: Request) -> dict[bytes, str]:
    """What came or went in those turns and stays as it is now, with the reason."""
    return {
        path: f"not undone, it is {reason}"
        for entry in entries
        if entry.kind == "write" and entry.turn >= wish.turn
        for path, reason in entry.lost
        if wish.concerns(shown(path))
    }


def _instead_of_special(entries: Sequence[Entry], turn: int, standing: Sequence[Write]) -> set[bytes]:
    """What took the place of a pipe or a socket that was there before those turns, and cannot be made again."""
    first = {write.change.path: write.change.before for write in reversed(standing)}
    times = Counter(
        path
        for entry in entries
        if entry.kind == "write" and entry.turn >= turn
        for path, reason in entry.lost
        if reason == SPECIAL and path in first and first[path] is None
    )
    return {path for path, count in times.items() if count % 2}  # one that those turns made themselves came and went


def _check(trail: Trail, wish: Request, standing: Sequence[Write], lost: Collection[bytes]) -> None:
    """Whoever names paths gets exactly those undone, or an error and nothing."""
    for path in sorted(wish.paths):
        known = (*(write.change.path for write in standing), *lost)
        written = [each for each in known if _holds(path, shown(each))]
        if not written:
            raise OpenAgentError(
                "not_found",
                f"No change to {path[:300]} from turn {wish.turn} on is left to undo. Nothing was undone.",
                hint="Paths start at the workspace's root. `openagent diff` shows what the session changed.",
            )
        depth = path.count("/") + 1
        if path != "." and len({b"/".join(each.split(b"/")[:depth]) for each in written}) > 1:
            raise OpenAgentError("not_found", f"Two files are shown as {path[:300]}. Nothing was undone.")
    for file in changes_of(trail, wish.session, wish.turn, since=True):
        if file.old_path and wish.concerns(file.path) and not wish.concerns(file.old_path):
            raise OpenAgentError(
                "invalid_argument",
                f"{file.path} was {file.old_path} before, and would be gone under both names. Nothing was undone.",
                hint="Name both paths.",
            )


def _holds(path: str, other: str) -> bool:
    return path in (".", other) or other.startswith(f"{path}/")


def put_again(trail: Trail, session: str, undo: str, found: Found) -> Restored | None:
    entries = trail.journal.read(session)
    rewind = next((entry for entry in entries if entry.kind in ("rewind", "revert") and entry.undo == undo), None)
    if rewind is None or any(entry.kind == "return" and entry.undo == undo for entry in entries):
        return None
    history = {change.path: [Step(change.after, change.before)] for change in rewind.touched}
    with BlobReader(trail.store.directory) as reader:
        goal = plan(trail.files, history, text_merger(trail.store.objects, reader))
        before = trail.store.checkpoint(trail.snapshot(), session, rewind.turn, "before_restore")
        touched, kept = carry_out(trail, reader, goal, found)
        git: Git = "untouched", ""
        if rewind.repository:
            git = restore_repository(trail.store, reader, rewind.before, trail.look_at_repository())
            trail.repository_touched()
    failed = {path for path, _ in (*goal.others, *kept)}
    taken = (
        (change.path for change in rewind.touched) if rewind.kind == "revert" else (path for _, path in rewind.taken)
    )
    again = {path for path in taken if path not in failed}
    entry = Entry(0, 0, "return", rewind.turn, touched=touched, undo=undo, taken=[(0, path) for path in sorted(again)])
    trail.journal.append(session, entry)
    done = restored(touched, goal, kept=kept, others=goal.others, undo="", before=before.id, git=git)
    path = shown(rewind.touched[0].path) if rewind.kind == "revert" and rewind.touched else ""
    return msgspec.structs.replace(done, path=path, turn=rewind.turn)


def last_undo(trail: Trail, session: str) -> LastUndo | None:
    entries = trail.journal.read(session)
    returned = {entry.undo for entry in entries if entry.kind == "return"}
    undone = [entry for entry in entries if entry.kind in ("rewind", "revert") and entry.undo not in returned]
    if not undone:
        return None
    gone_on = any(entry.kind == "write" and entry.number > undone[-1].number for entry in entries)
    return LastUndo(undone[-1].undo, undone[-1].at / 1e9, gone_on)


def carry_out(
    trail: Trail, reader: BlobReader, goal: Goal, found: Found
) -> tuple[list[Change], list[tuple[bytes, str]]]:
    store, present = trail.store, trail.files
    change = Apply(reader, present, goal.target, store.begin_writing())
    with opened_root(store.workspace) as root:
        change.run(root)
    store.end_writing()
    on_the_way = {parent for path in goal.wanted for parent in parents(path)}  # made again for what lies in them
    ours = {*goal.wanted, *(path for path in on_the_way if state_at(present.root, path) is None)}
    found([each for each in trail.look() if each.path not in ours])
    touched = [Change(path, state_at(present.root, path), state_at(trail.root, path)) for path in sorted(ours)]
    return [each for each in touched if each.before != each.after], change.kept


def repository_moves(entries: Sequence[Entry], turn: int) -> list[Entry]:
    """The session's calls that changed the repository's own state, as far as that was not taken back."""
    returned = {entry.undo for entry in entries if entry.kind == "return"}
    rewound = [
        entry.number for entry in entries if entry.kind == "rewind" and entry.repository and entry.undo not in returned
    ]
    since = max(rewound, default=0)
    return [
        entry
        for entry in entries
        if entry.kind == "write" and entry.repository and entry.turn >= turn and entry.number > since
    ]


def _repository_back(trail: Trail, reader: BlobReader, wish: Request, moved: Sequence[Entry]) -> Git:
    if not moved:
        return "untouched", "The session did not change the repository."
    present = trail.look_at_repository()
    now = write_trees(trail.store.objects, present.root) if present else b""
    if now != moved[-1].repository and not wish.overwrite:
        return "refused", "Others have changed the repository since."
    references = [reference.read_text().strip() for _, reference in trail.store.numbered(wish.session)]
    saved = [trail.store.read_checkpoint(reader, commit) for commit in references]
    wanted = next((each for each in saved if each.kind == "turn" and each.turn >= wish.turn), None)
    if wanted is None:
        return "refused", "The repository's state from before is not kept any more."
    outcome = restore_repository(trail.store, reader, wanted.id, present)
    trail.repository_touched()
    return outcome


def restored(
    touched: Sequence[Change],
    goal: Goal,
    *,
    kept: Sequence[tuple[bytes, str]],
    others: Sequence[tuple[bytes, str]],
    undo: str,
    before: str,
    git: Git,
) -> Restored:
    return Restored(
        checkpoint=before,
        before=before,
        written=[shown(change.path) for change in touched if change.after is not None],
        removed=[shown(change.path) for change in touched if change.after is None],
        kept=shown_left_out(list(kept)),
        git_state=git[0],
        git_detail=git[1],
        undo=undo,
        others=shown_left_out(sorted(others)),
        merged=[shown(path) for path in goal.merged],
    )


def changes_of(trail: Trail, session: str, turn: int | None, *, since: bool = False) -> list[ChangedFile]:
    writes = writes_of(trail.journal.read(session))
    if turn is None or since:
        wanted = [write for write in writes if not write.taken_by and write.turn >= (turn or 0)]
    else:
        wanted = [write for write in writes if write.turn == turn]
    by_path: dict[bytes, list[Write]] = {}
    for write in wanted:
        by_path.setdefault(write.change.path, []).append(write)
    old, new = Draft(empty_folder()), Draft(empty_folder())
    with BlobReader(trail.store.directory) as reader:
        merge_text = text_merger(trail.store.objects, reader)
        for path, some in by_path.items():
            before, after = some[0].change.before, alone([write.change for write in some], merge_text)
            if before != after:
                for draft, state in ((old, before), (new, after)):
                    if state is not None and state.kind != "folder":
                        draft.put(path, state)
    before, after = _tree(trail, old.root), _tree(trail, new.root)
    last = {write.change.path: write for write in writes if not write.taken_by}
    others = {shown(path) for path, write in last.items() if state_at(trail.root, path) != write.change.after}
    shared = {shown(path): why for path, some in by_path.items() for write in some if (why := write.shared)}
    ignored = Ignored(trail.store.directory, trail.store.workspace)
    return [
        msgspec.structs.replace(change, others=change.path in others, shared=shared.get(change.path, ""))
        for change in tree_changes(trail.store.directory, before, after, ignored)
    ]


def alone(changes: Sequence[Change], merge_text: Callable[[bytes, bytes, bytes], bytes | None]) -> State | None:
    """What a path would be after these alone, without what others did to it in between."""
    at = changes[0].after
    for change in changes[1:]:
        result = change.after if at == change.before else three_way(at, change.before, change.after, merge_text)
        at = change.after if isinstance(result, Clash) else result
    return at


def _tree(trail: Trail, folder: Folder) -> str:
    return write_trees(trail.store.objects, folder).hex()
