"""Whose writes are whose, over many random histories of several sessions and a person in one folder."""

import os
import random
import shutil
from pathlib import Path

import pytest

from openagent.plugins.workspace import Caller, Restored
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.copies import WorkspaceCopies
from openagent.workspace.git_guard import GitGuard, NoJails
from openagent.workspace.scan import Limits
from openagent.workspace.tree import shown
from openagent.workspace.writes import WorkspaceWrites
from tests.workspace.trees import Editor, Entry, git, manifest

pytestmark = pytest.mark.anyio

HISTORIES = int(os.environ.get("OPENAGENT_UNDO_HISTORIES", "60"))
"""Five hundred and more by hand."""
GROUPS = 6
SESSIONS: tuple[str, ...] = ("one", "two", "three")

Tree = dict[bytes, Entry]
Delta = dict[bytes, tuple[Entry | None, Entry | None]]


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("group", range(GROUPS))
async def test_a_rewind_takes_back_exactly_what_a_session_wrote(group: int, watched: bool, memory: Path) -> None:
    writes = WorkspaceWrites(memory / "home", GitCheckpoints(memory / "home"), watched=watched)
    for number in range(group * HISTORIES // GROUPS, (group + 1) * HISTORIES // GROUPS):
        workspace = memory / f"workspace-{number}"
        workspace.mkdir()
        await _one_history(writes, workspace, number)


async def _one_history(writes: WorkspaceWrites, workspace: Path, seed: int) -> None:
    chance = random.Random(seed)
    editor = Editor(workspace, seed)
    editor.edit(chance.randrange(4, 25))
    done: list[tuple[str, int, Delta]] = []
    turns = dict.fromkeys(SESSIONS, 0)
    for _ in range(chance.randrange(2, 12)):
        who = chance.choice((*SESSIONS, ""))
        before = manifest(workspace)
        if who:
            turns[who] += chance.random() < 0.7 or not turns[who]
            window = await writes.begin(workspace, Caller(who, turns[who], "call"))
            editor.edit(chance.randrange(0, 8))
            await writes.end(window)
        else:
            editor.edit(chance.randrange(1, 5))
        done.append((who, turns.get(who, 0), difference(before, manifest(workspace))))
    acting = [name for name, turn in turns.items() if turn]
    if not acting:
        return
    who = chance.choice(acting)
    turn = chance.randrange(1, turns[who] + 1)
    now = manifest(workspace)
    restored = await writes.rewind(workspace, who, turn)
    check(done, who, turn, now, manifest(workspace), restored, f"seed {seed}, {who} from turn {turn}")
    if restored is not None:
        assert await writes.unrewind(workspace, who, restored.undo) is not None
        assert manifest(workspace) == now, f"seed {seed}: not all came back"


def difference(before: Tree, after: Tree) -> Delta:
    return {
        path: (before.get(path), after.get(path))
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }


def check(
    done: list[tuple[str, int, Delta]],
    who: str,
    turn: int,
    now: Tree,
    after: Tree,
    restored: Restored | None,
    seed: str,
) -> None:
    """By what was seen from outside, and nothing the program knows."""
    reported = {left.path for left in (*restored.others, *restored.kept)} if restored else set[str]()
    merged = set(restored.merged) if restored else set[str]()
    own: dict[bytes, Entry | None] = {}
    mixed: set[bytes] = set()
    for name, number, delta in done:
        for path, (old, _) in delta.items():
            if name == who and number >= turn:
                own.setdefault(path, old)
            elif path in own:
                mixed.add(path)
    for path in now.keys() | after.keys():
        told = shown(path)
        if path not in own:
            needed = path not in now and any(other.startswith(path + b"/") for other in own if other in after)
            assert needed or after.get(path) == now.get(path), f"{seed}: {path!r} is somebody else's"
        elif path not in mixed and after.get(path) != own[path]:
            inside = any(other.startswith(path + b"/") for other in after)
            assert told in reported or (own[path] is None and inside), f"{seed}: {path!r} was not taken back"
        elif path in mixed and after.get(path) not in (now.get(path), own[path]):
            needed = path not in now and any(other.startswith(path + b"/") for other in own if other in after)
            assert needed or told in merged | reported, f"{seed}: {path!r} is neither as it was nor merged"


async def test_what_others_did_between_and_after_stays(workspace: Path, home: Path) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home))
    lines = [f"{number}\n" for number in range(30)]

    def put(changes: dict[int, str]) -> None:
        for number, text in changes.items():
            lines[number] = text
        (workspace / "a").write_text("".join(lines))

    put({})
    for turn, changes in enumerate(({2: "mine\n"}, {10: "theirs\n"}, {20: "mine\n"}, {28: "theirs\n"})):
        if changes.get(2) or changes.get(20):
            window = await writes.begin(workspace, Caller("one", turn + 1, "call"))
            put(changes)
            await writes.end(window)
        else:
            put(changes)
    (shown_,) = await writes.changes(workspace, "one", None)
    assert (shown_.added, shown_.removed, "theirs" in shown_.patch) == (2, 2, False)
    restored = await writes.rewind(workspace, "one", 1)
    assert restored is not None
    assert restored.merged == ["a"]
    put({2: "2\n", 20: "20\n"})
    expected = (workspace / "a").read_text()
    assert (workspace / "a").read_text() == expected
    assert expected.count("theirs") == 2


async def test_what_is_needed_for_undo_survives_the_collection_of_garbage(workspace: Path, home: Path) -> None:
    checkpoints = GitCheckpoints(home)
    writes = WorkspaceWrites(home, checkpoints)
    copies = WorkspaceCopies(home, checkpoints, writes)
    (workspace / "a").write_text("before\n")
    for turn in (1, 2, 3):
        window = await writes.begin(workspace, Caller("one", turn, "call"))
        (workspace / "a").write_text(f"{turn}\n")
        await writes.end(window)
    await copies.gc(["one"], keep=1)
    await writes.rewind(workspace, "one", 3)
    assert (workspace / "a").read_text() == "2\n"
    window = await writes.begin(workspace, Caller("two", 1, "call"))
    (workspace / "a").write_text("two\n")
    await writes.end(window)
    await checkpoints.forget("one")
    await copies.gc(["two"], keep=1)
    assert await writes.rewind(workspace, "one", 1) is None
    await writes.rewind(workspace, "two", 1)
    assert (workspace / "a").read_text() == "2\n"


async def test_a_workspace_inside_another_keeps_its_sessions_writes_apart(workspace: Path, home: Path) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home))
    inner = workspace / "inner"
    inner.mkdir()
    outer_window = await writes.begin(workspace, Caller("outer", 1, "call"))
    (workspace / "outer.txt").write_text("outer\n")
    window = await writes.begin(inner, Caller("inner", 1, "call"), exact=True)
    (inner / "inner.txt").write_text("inner\n")
    window.wrote("inner.txt")
    await writes.end(window)
    await writes.end(outer_window)
    assert [change.path for change in await writes.changes(workspace, "outer", None)] == ["outer.txt"]
    assert [change.path for change in await writes.changes(inner, "inner", None)] == ["inner.txt"]


async def test_what_a_crash_cut_off_in_two_sessions_belongs_to_neither_for_sure(workspace: Path, home: Path) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home))
    for session in ("one", "two"):
        await writes.begin(workspace, Caller(session, 1, "call"))
    (workspace / "a").write_text("whose?\n")
    again = WorkspaceWrites(home, GitCheckpoints(home))
    for session in ("one", "two"):
        await again.interrupted(workspace, Caller(session, 1, "call"))
    for session in ("one", "two"):
        restored = await again.rewind(workspace, session, 1)
        assert restored is not None
        assert [left.path for left in restored.others] == ["a"]
    assert (workspace / "a").read_text() == "whose?\n"


def test_a_look_between_calls_finds_nothing_in_a_workspace_that_is_gone(workspace: Path, home: Path) -> None:
    guard = GitGuard(workspace, home, NoJails(walled=False))
    shutil.rmtree(workspace)  # a copy that was merged while a round was on its way
    assert guard.look_at({b".git"}) == []


async def test_what_is_beyond_the_limits_is_told_but_for_what_the_session_made(workspace: Path, home: Path) -> None:
    limits = Limits(ignored_file_bytes=100, file_bytes=1000)
    writes = WorkspaceWrites(home, GitCheckpoints(home, limits=limits))
    (workspace / ".gitignore").write_text("out/\n")
    (workspace / "out").mkdir()
    (workspace / "out" / "found").write_bytes(b"x" * 200)
    (workspace / "huge").write_bytes(b"x" * 2000)
    (workspace / "kept").write_bytes(b"x" * 500)
    found = {workspace / "out" / "found", workspace / "huge"}
    assert set(await writes.unsaved(workspace, "one")) == found
    window = await writes.begin(workspace, Caller("one", 1, "call"))
    (workspace / "out" / "made").write_bytes(b"x" * 200)
    (workspace / "kept").write_bytes(b"x" * 2000)
    await writes.end(window)
    found.add(workspace / "kept")
    assert set(writes.known_unsaved(workspace, "one")) == found
    assert set(writes.known_unsaved(workspace, "two")) == {*found, workspace / "out" / "made"}


async def test_of_very_many_such_files_their_folders_are_told(workspace: Path, home: Path) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home, limits=Limits(file_bytes=10)))
    for number in range(100):
        folder = workspace / "many" / str(number % 10)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_bytes(b"x" * 20)
    assert set(await writes.unsaved(workspace, "one")) == {workspace / "many" / str(number) for number in range(10)}


async def test_objects_that_cannot_be_kept_are_told(tmp_path: Path, memory: Path) -> None:
    if tmp_path.stat().st_dev == memory.stat().st_dev:
        pytest.skip("there are no two file systems here")
    workspace = memory / "workspace"
    pack = workspace / ".git" / "objects" / "pack"
    pack.mkdir(parents=True)
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (pack / "small.pack").write_bytes(b"x")
    writes = WorkspaceWrites(tmp_path, GitCheckpoints(tmp_path))
    assert await writes.unsaved(workspace, "one") == []
    os.truncate(pack / "small.pack", 40 << 20)
    writes = WorkspaceWrites(tmp_path / "other", GitCheckpoints(tmp_path / "other"))
    assert await writes.unsaved(workspace, "one") == [pack]


async def test_a_work_trees_repository_is_told_unless_what_it_was_is_kept(tmp_path: Path, home: Path) -> None:
    main, tree, inside = tmp_path / "main", tmp_path / "tree", tmp_path / "inside"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", "-q", str(tree))
    inside.mkdir()
    git(inside, "clone", "-q", "--bare", str(main), "store")
    git(inside / "store", "worktree", "add", "-q", "--no-checkout", str(inside / "own"))
    shutil.move(inside / "own" / ".git", inside / ".git")
    git(inside / "store", "worktree", "repair", str(inside))
    checkpoints = GitCheckpoints(home)
    writes = WorkspaceWrites(home, checkpoints)
    copies = WorkspaceCopies(home, checkpoints, writes)
    assert await writes.unsaved(main, "one") == []
    assert await writes.unsaved(tree, "one") == [main / ".git"]
    assert await writes.unsaved(inside, "one") == []
    ours = await copies.create(main, "try", how="worktree")
    assert await writes.unsaved(Path(ours.path), "one") == []
    of_a_tree = await copies.create(tree, "try", how="worktree")
    assert await writes.unsaved(Path(of_a_tree.path), "one") == [main / ".git"]
