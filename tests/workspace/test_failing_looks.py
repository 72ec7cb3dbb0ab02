"""What a call wrote is known, or said to be unsure, when the files cannot be read right before or after it."""

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openagent.plugins.workspace import Caller
from openagent.protocol.undo import ChangedFile
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.git_guard import Disarmed, GitGuard, NoJails
from openagent.workspace.writes import WorkspaceWrites
from tests.workspace.trees import git, manifest

pytestmark = pytest.mark.anyio

ONE = Caller("one", 1, "call")


@contextmanager
def _full_disk() -> Generator[None]:
    """Nothing can be written to any file, by whomever."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def _no_journal(home: Path) -> Generator[None]:
    (store,) = (home / "checkpoints").iterdir()
    (store / "writes").rename(store / "aside")
    (store / "writes").touch()
    try:
        yield
    finally:
        (store / "writes").unlink()
        (store / "aside").rename(store / "writes")


async def _changes(writes: WorkspaceWrites, workspace: Path, session: str = "one") -> dict[str, ChangedFile]:
    return {each.path: each for each in await writes.changes(workspace, session, None)}


def _fill(workspace: Path) -> dict[bytes, object]:
    (workspace / "a.txt").write_text("before\n")
    (workspace / "b.txt").write_text("before\n")
    return dict(manifest(workspace))


@pytest.mark.parametrize("exact", [True, False])
async def test_what_a_failed_look_missed_is_found_by_the_next(home: Path, workspace: Path, exact: bool) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home))
    before = _fill(workspace)
    await writes.end(await writes.begin(workspace, ONE))
    window = await writes.begin(workspace, ONE, exact=exact)
    window.wrote("a.txt")
    (workspace / "a.txt").write_text("after\n")
    with _full_disk(), pytest.raises(OSError, match="File too large"):
        await writes.end(window)
    assert list(await writes.unsaved(workspace, "one")) == [workspace]
    found = await _changes(writes, workspace)
    assert (found["a.txt"].status, "could not be read" in found["a.txt"].shared) == ("M", True)
    assert await writes.unsaved(workspace, "one") == []
    restored = await writes.rewind(workspace, "one", 1)
    assert restored is not None
    assert [left.path for left in restored.others] == ["a.txt"]
    await writes.rewind(workspace, "one", 1, overwrite=True)
    assert manifest(workspace) == before


async def test_a_call_that_began_unseen_is_unsure_and_the_next_one_is_not(home: Path, workspace: Path) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home))
    _fill(workspace)
    await writes.end(await writes.begin(workspace, ONE))
    (workspace / "a.txt").write_text("by a person\n")
    with _full_disk():
        window = await writes.begin(workspace, ONE)
    assert window.trouble is not None
    (workspace / "b.txt").write_text("by the call\n")
    await writes.end(window)
    window = await writes.begin(workspace, Caller("one", 2, "call"))
    (workspace / "c.txt").write_text("by the next call\n")
    await writes.end(window)
    shared = {path: bool(each.shared) for path, each in (await _changes(writes, workspace)).items()}
    assert shared == {"a.txt": True, "b.txt": True, "c.txt": False}


async def test_what_the_journal_had_no_place_for_is_written_later(home: Path, workspace: Path) -> None:
    writes = WorkspaceWrites(home, GitCheckpoints(home))
    before = _fill(workspace)
    window = await writes.begin(workspace, ONE)
    (workspace / "a.txt").write_text("first\n")
    await writes.end(window)
    window = await writes.begin(workspace, ONE)
    (workspace / "b.txt").write_text("second\n")
    with _no_journal(home), pytest.raises(OSError, match="File exists"):
        await writes.end(window)
    assert {path: each.shared for path, each in (await _changes(writes, workspace)).items()} == {
        "a.txt": "",
        "b.txt": "",
    }
    await writes.rewind(workspace, "one", 1)
    assert manifest(workspace) == before


async def test_a_defect_of_the_check_of_repositories_costs_nothing_of_undo(home: Path, workspace: Path) -> None:
    told: list[Disarmed] = []

    class Defective(NoJails):
        def is_walled(self, place: Path) -> bool | None:
            if "made" in place.parts:
                raise ValueError(f"nothing is known of {place}")
            return True

    writes = WorkspaceWrites(
        home,
        GitCheckpoints(home),
        jails=Defective(),
        on_disarmed=lambda _session, found, _kept: told.extend(found),
    )
    before = _fill(workspace)
    window = await writes.begin(workspace, ONE)
    (workspace / "a.txt").write_text("after\n")
    git(workspace, "init", "-q", "made")
    await writes.end(window)
    assert {each.path for each in told if "could not be checked" in each.what} == {"made", "made/.git"}
    await writes.rewind(workspace, "one", 1)
    assert manifest(workspace) == before


def test_what_cannot_be_kept_is_taken_out_all_the_same(home: Path, workspace: Path) -> None:
    home.mkdir()
    home.joinpath("disarmed").touch()  # no place for the originals
    guard = GitGuard(workspace, home, NoJails(walled=False))
    git(workspace, "init", "-q")
    git(workspace, "config", "core.fsmonitor", "touch x")
    assert [each.left for each in guard.look_at({b".git"})] == [False]
    assert "fsmonitor" not in (workspace / ".git/config").read_text()
