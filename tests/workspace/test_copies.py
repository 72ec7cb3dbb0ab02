"""Copies: isolated from their origin, merged back without losing either side's work."""

import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import cast

import pytest

from openagent.plugins.workspace import Quota
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.workspaces import CopyMethod
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.copies import WorkspaceCopies
from tests.workspace.trees import Editor, Entry, git, manifest, repository_state

pytestmark = pytest.mark.anyio

METHODS: tuple[CopyMethod, ...] = ("overlay", "worktree", "copy")


def _mountable() -> bool:
    """Whether this machine lets us mount an overlay at all."""
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        script = "mkdir l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && umount m"
        return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> CopyMethod:
    if request.param == "overlay" and not _mountable():
        pytest.skip("overlays cannot be mounted here")
    return cast(CopyMethod, request.param)


@pytest.fixture
def project(workspace: Path) -> Path:
    """A repository with every kind of uncommitted change."""
    git(workspace, "init", "-q", "-b", "main")
    (workspace / ".gitignore").write_text("ignored\n")
    (workspace / "source").mkdir()
    (workspace / "source" / "main.py").write_text("".join(f"line {number}\n" for number in range(20)))
    (workspace / "removed").write_text("removed\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "one")
    (workspace / "removed").unlink()
    (workspace / "staged").write_text("staged\n")
    git(workspace, "add", "staged")
    (workspace / "untracked").write_text("untracked\n")
    (workspace / "ignored").write_text("ignored\n")
    (workspace / "program").write_text("#!/bin/sh\n")
    (workspace / "program").chmod(0o755)
    (workspace / "link").symlink_to("source")
    (workspace / "empty").mkdir()
    return workspace


async def test_a_copy_starts_as_the_workspace_is(copies: WorkspaceCopies, project: Path, method: CopyMethod) -> None:
    status = git(project, "status", "--porcelain=v2")
    copy = await copies.create(project, "try", how=method)
    path = await copies.open(copy.id)
    assert copy.method == method
    assert manifest(path) == manifest(project)
    assert git(path, "status", "--porcelain=v2") == status
    assert await copies.diff(copy.id) == []
    assert [found.id for found in await copies.copies(project)] == [copy.id]
    await copies.remove(copy.id)
    assert not path.exists()
    assert await copies.copies() == []
    assert git(project, "worktree", "list").count("\n") == 1


async def test_copy_and_origin_do_not_see_each_other(
    copies: WorkspaceCopies, project: Path, method: CopyMethod
) -> None:
    copy = await copies.create(project, "try", how=method)
    path = await copies.open(copy.id)
    (project / "source" / "main.py").write_text("origin\n")
    (path / "untracked").write_text("copy\n")
    assert (path / "source" / "main.py").read_text().startswith("line 0")
    assert (project / "untracked").read_text() == "untracked\n"
    await copies.remove(copy.id, force=True)


async def test_changes_on_both_sides_come_together(
    copies: WorkspaceCopies, checkpoints: GitCheckpoints, project: Path, method: CopyMethod
) -> None:
    copy = await copies.create(project, "try", how=method)
    path = await copies.open(copy.id)
    before = repository_state(project)
    lines = (path / "source" / "main.py").read_text()
    (path / "source" / "main.py").write_text(lines.replace("line 1\n", "copy 1\n"))
    (project / "source" / "main.py").write_text(lines.replace("line 18\n", "origin 18\n"))
    (path / "new" / "deep").mkdir(parents=True)
    (path / "new" / "deep" / "file").write_text("new\n")
    (path / "untracked").unlink()
    (path / "empty").rmdir()
    (path / "staged").write_text("copy\n")
    (project / "staged").write_text("origin\n")
    (project / "own").write_text("own\n")
    assert {change.path for change in await copies.diff(copy.id)} == {
        "source/main.py",
        "new/deep/file",
        "untracked",
        "staged",
    }

    merged = await copies.merge_back(copy.id)

    together = lines.replace("line 1\n", "copy 1\n").replace("line 18\n", "origin 18\n")
    assert (project / "source" / "main.py").read_text() == together
    assert merged.merged == ["source/main.py"]
    assert set(merged.applied) == {"new", "new/deep", "new/deep/file", "untracked", "empty"}
    assert [(conflict.path, conflict.origin, conflict.copy) for conflict in merged.conflicts] == [
        ("staged", "origin\n", "copy\n")
    ]
    assert (project / "staged").read_text() == "origin\n"
    assert (path / "staged").read_text() == "copy\n"
    assert (project / "own").read_text() == "own\n"
    assert not (project / "untracked").exists()
    if method != "worktree":
        assert repository_state(project) == before
    again = await copies.merge_back(copy.id)
    assert (again.applied, again.merged) == ([], [])
    assert [conflict.path for conflict in again.conflicts] == ["staged"]
    with pytest.raises(OpenAgentError, match="not merged back"):
        await copies.remove(copy.id)
    await checkpoints.restore(project, merged.before)
    assert (project / "untracked").read_text() == "untracked\n"
    await copies.remove(copy.id, force=True)


async def test_merging_loses_nothing_over_random_histories(memory: Path) -> None:
    copies = WorkspaceCopies(memory / "home", GitCheckpoints(memory / "home"))
    conflicts = 0
    for seed in range(60):
        project = memory / f"workspace-{seed}"
        project.mkdir()
        Editor(project, seed).edit(25)
        copy = await copies.create(project, "try", how="copy")
        path = Path(copy.path)
        base = manifest(project)
        chance = random.Random(seed)
        Editor(path, seed + 1000).edit(chance.randrange(12))
        Editor(project, seed + 2000).edit(chance.randrange(12))
        ours, theirs = manifest(project), manifest(path)
        merged = await copies.merge_back(copy.id)
        result = manifest(project)
        failed = {conflict.path for conflict in merged.conflicts}
        conflicts += len(failed)
        assert manifest(path) == theirs
        for name in base.keys() | ours.keys() | theirs.keys():
            sides = base.get(name), ours.get(name), theirs.get(name)
            holds_something = any(other.startswith(name + b"/") for other in result)
            _check_one(sides, result.get(name), _shown(name) in failed, holds_something, f"seed {seed}, {name!r}")
        assert set(result) <= ours.keys() | theirs.keys()
    assert conflicts > 10


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _check_one(
    sides: tuple[Entry | None, Entry | None, Entry | None],
    result: Entry | None,
    failed: bool,
    holds_something: bool,
    where: str,
) -> None:
    """A folder that one side removed stays while the other side's work is in it."""
    base, ours, theirs = sides
    expected = ours if failed or theirs in (base, ours) else theirs
    if expected is None and holds_something:
        assert result is not None, where
        assert result[0] == "folder", where
    elif failed or theirs in (base, ours) or ours == base:
        assert result == expected, where
    elif ours and theirs:
        assert result is not None, where
        assert result[0] == ours[0] == theirs[0], where
    else:
        assert base is not None, where
        assert base[0] == "folder", where


async def test_the_best_way_that_works_is_chosen(copies: WorkspaceCopies, project: Path, tmp_path: Path) -> None:
    copy = await copies.create(project, "try")
    assert copy.method == ("overlay" if _mountable() else "worktree")
    await copies.remove(copy.id)
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(OpenAgentError, match="no git repository"):
        await copies.create(plain, "try", how="worktree")
    assert [path.name for path in (tmp_path / "home" / "copies").iterdir() if path.name != "bases"] == []


async def test_a_worktree_copy_runs_nothing_of_the_repository(copies: WorkspaceCopies, project: Path) -> None:
    marker = project.parent / "ran"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        script = project / ".git" / "hooks" / hook
        script.write_text(f"#!/bin/sh\ntouch {marker}\n")
        script.chmod(0o755)
    git(project, "config", "core.fsmonitor", f"touch {marker}")
    git(project, "config", "filter.evil.smudge", f"touch {marker}; cat")
    (project / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    copy = await copies.create(project, "try", how="worktree")
    await copies.diff(copy.id)
    await copies.remove(copy.id)
    assert not marker.exists()


async def test_a_copy_over_its_quota_is_refused(copies: WorkspaceCopies, project: Path) -> None:
    usage = await copies.usage(project)
    assert usage.files > 8
    assert await copies.check_quota(project, Quota(bytes=usage.bytes, files=usage.files)) == usage
    with pytest.raises(OpenAgentError, match="its quota is 3") as problem:
        await copies.create(project, "try", quota=Quota(files=3))
    assert problem.value.info.code == "workspace_full"
    with pytest.raises(OpenAgentError, match="bytes, and its quota is"):
        await copies.check_quota(project, Quota(bytes=usage.bytes - 1))


async def test_what_a_crash_left_of_a_copy_is_collected(
    copies: WorkspaceCopies, checkpoints: GitCheckpoints, project: Path, method: CopyMethod
) -> None:
    kept = await copies.create(project, "kept", how=method)
    lost = await copies.create(project, "lost", how=method)
    Path(lost.path).parent.joinpath("copy.json").unlink()
    (await copies.open(kept.id) / "untracked").write_text("changed\n")
    collected = await copies.gc([])
    assert collected.copies == 1
    assert not Path(lost.path).exists()
    assert [change.path for change in await copies.diff(kept.id)] == ["untracked"]
    await copies.remove(kept.id, force=True)
    shutil.rmtree(project)
    assert (await copies.gc([])).stores in (0, 1)


async def test_whoever_starts_or_stops_leaves_no_copy_mounted_and_loses_nothing_in_it(
    copies: WorkspaceCopies, project: Path
) -> None:
    if not _mountable():
        pytest.skip("overlays cannot be mounted here")
    first, second = [await copies.create(project, name, how="overlay") for name in ("one", "two")]
    for copy in (first, second):
        (Path(copy.path) / "mine").write_text(copy.id)
    copies.unmount_all()
    assert not any(os.path.ismount(copy.path) for copy in (first, second))
    for copy in (first, second):
        assert (await copies.open(copy.id) / "mine").read_text() == copy.id
        await copies.remove(copy.id, force=True)
