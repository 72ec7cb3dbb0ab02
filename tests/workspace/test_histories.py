"""Rewinding brings back every bit, over many random histories."""

import random
import shutil
from pathlib import Path

import pytest

from openagent.workspace.checkpoints import GitCheckpoints
from tests.workspace.trees import Editor, git, manifest, repository_state, taken

pytestmark = pytest.mark.anyio

HISTORIES = 500
GROUPS = 10


@pytest.mark.parametrize("group", range(GROUPS))
async def test_rewinding_restores_byte_identical_trees(group: int, memory: Path) -> None:
    checkpoints = GitCheckpoints(memory / "home")
    for number in range(group * HISTORIES // GROUPS, (group + 1) * HISTORIES // GROUPS):
        workspace = memory / f"workspace-{number}"
        workspace.mkdir()
        await _one_history(checkpoints, workspace, number)


async def _one_history(checkpoints: GitCheckpoints, workspace: Path, seed: int) -> None:
    chance = random.Random(seed)
    editor = Editor(workspace, seed)
    editor.edit(chance.randrange(4, 25))
    states: dict[str, dict[bytes, object]] = {}
    for turn in range(chance.randrange(2, 4)):
        if checkpoint := await checkpoints.take(workspace, "session", turn):
            assert checkpoint.left_out == []
            states[checkpoint.id] = dict(manifest(workspace))
        else:
            assert dict(manifest(workspace)) in states.values(), f"a change was not noticed, seed {seed}"
        editor.edit(chance.randrange(0, 12))
    unsaved = manifest(workspace)
    goal = chance.choice(list(states))
    restored = await checkpoints.restore(workspace, goal)
    assert manifest(workspace) == states[goal], f"seed {seed}"
    assert restored.kept == []
    undone = await checkpoints.restore(workspace, restored.before)
    assert manifest(workspace) == unsaved, f"seed {seed}"
    assert undone.kept == []


async def test_submodules_and_nested_repositories_come_back_whole(
    checkpoints: GitCheckpoints, workspace: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.c").write_text("int one;\n")
    git(library, "add", "-A")
    git(library, "commit", "-qm", "one")
    git(workspace, "init", "-q")
    git(workspace, "submodule", "add", "-q", str(library), "vendor/lib")
    git(workspace, "commit", "-qm", "with a submodule")
    git(workspace, "clone", "-q", str(library), "nested")
    git(workspace, "init", "-q", "unborn")
    before, own = manifest(workspace), repository_state(workspace)
    checkpoint = await taken(checkpoints, workspace)

    (workspace / "vendor/lib/lib.c").write_text("int two;\n")
    shutil.rmtree(workspace / "nested")
    shutil.rmtree(workspace / "unborn" / ".git")
    await checkpoints.restore(workspace, checkpoint.id)

    assert manifest(workspace) == before
    assert git(workspace / "nested", "status", "--porcelain") == ""
    assert git(workspace / "nested", "log", "--format=%s") == "one\n"
    assert repository_state(workspace) == own


async def test_the_own_repository_is_only_read(checkpoints: GitCheckpoints, workspace: Path) -> None:
    git(workspace, "init", "-q")
    (workspace / ".gitignore").write_text("ignored\n")
    (workspace / "tracked").write_text("one\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "one")
    (workspace / "tracked").write_text("stashed\n")
    git(workspace, "stash", "-q")
    (workspace / "staged").write_text("staged\n")
    git(workspace, "add", "staged")
    (workspace / "untracked").write_text("untracked\n")
    (workspace / "ignored").write_text("ignored\n")
    (workspace / ".git/hooks/post-checkout").write_text(f"#!/bin/sh\ntouch {workspace}/hooked\n")
    (workspace / ".git/hooks/post-checkout").chmod(0o755)
    status = git(workspace, "status", "--porcelain=v2", "--branch", "--show-stash", "--ignored")
    own = repository_state(workspace)

    first = await taken(checkpoints, workspace)
    for name in ("tracked", "staged", "untracked", "ignored"):
        (workspace / name).unlink()
    second = await taken(checkpoints, workspace)
    await checkpoints.diff(workspace, first.id, second.id)
    await checkpoints.diff(workspace, first.id)
    await checkpoints.restore(workspace, first.id)

    assert repository_state(workspace) == own
    assert git(workspace, "status", "--porcelain=v2", "--branch", "--show-stash", "--ignored") == status
    assert (workspace / "ignored").read_text() == "ignored\n"
    assert not (workspace / "hooked").exists()
