"""Files that git ignores are told apart in every view of changes, and are taken back like all others."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.review import ReviewShow
from openagent.protocol.undo import SessionChanges, SessionRedo, SessionUndo
from openagent.protocol.workspaces import WorkspacesCreate, WorkspacesDiff

from .doing import ask, shell, turn
from .house import MODEL, House, house, new_session

pytestmark = pytest.mark.anyio

RULES = "__pycache__/\n*.log\n.envrc\n"
MAKE = "mkdir -p __pycache__ && echo x | tee -a app.py __pycache__/a.pyc kept.log run.log .envrc"


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=n", "-c", "user.email=n@x"]
    subprocess.run(["git", *author, "-C", str(folder), *words], check=True, capture_output=True)


def repository(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text(RULES)
    (folder / "kept.log").write_text("tracked\n")
    git(folder, "add", "-f", ".gitignore", "kept.log")
    git(folder, "commit", "-qm", "first")


async def ignored(h: House, client: Client, workspace: Path) -> set[str]:
    """Of what MAKE writes there."""
    session = (await client.create_session(str(workspace), model=MODEL, mode="full")).id
    await turn(client, await client.attach(session))
    files = (await ask(client, SessionChanges, session=session)).files
    assert {file.path for file in files} >= {"app.py", "__pycache__/a.pyc", "kept.log", "run.log", ".envrc"}
    return {file.path for file in files if file.ignored}


async def test_they_are_marked_in_every_answer_even_when_they_are_gone_and_undo_takes_them_back(tmp_path: Path) -> None:
    script = [
        shell(MAKE),
        {"text": "ok"},
        shell("rm -r old.log __pycache__"),
        {"text": "ok"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        repository(h.workspace)
        (h.workspace / "old.log").write_text("old\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        marked = {"__pycache__/a.pyc", "run.log"}
        told = (await ask(client, SessionChanges, session=session)).files
        assert {file.path for file in told if file.ignored} == marked, "kept.log is tracked, .envrc runs outside"
        await turn(client, attachment)
        (h.workspace / "others.log").write_text("by hand\n")
        review = await ask(client, ReviewShow, session=session)
        assert {each.file.path for each in review.files if each.file.ignored} == {"old.log", "run.log"}
        by_turn = [{each.file.path for each in every.files if each.file.ignored} for every in review.turns]
        assert by_turn == [marked, {"__pycache__/a.pyc", "old.log"}]
        assert [(file.path, file.ignored) for file in review.others[0].files] == [("others.log", True)]
        await ask(client, SessionUndo, session=session, turn=1)
        assert (h.workspace / "old.log").exists()
        assert not (h.workspace / "run.log").exists()
        await ask(client, SessionRedo, session=session)
        assert (h.workspace / "run.log").exists()


def _plain(folder: Path) -> Path:
    repository(folder)
    return folder


def _without_repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / ".gitignore").write_text(RULES)
    (folder / "kept.log").touch()
    return folder


def _below_its_repository(folder: Path) -> Path:
    repository(folder)
    below = folder / "services" / "api"
    below.mkdir(parents=True)
    (below / "kept.log").touch()
    git(folder, "add", "-f", "services")
    return below


def _worktree(folder: Path) -> Path:
    repository(folder)
    git(folder, "worktree", "add", "-q", str(folder.parent / "tree"))
    return folder.parent / "tree"


def _excluded_by_the_repository_alone(folder: Path) -> Path:
    repository(folder)
    (folder / ".gitignore").unlink()
    (folder / ".git" / "info" / "exclude").write_text(RULES)
    return folder


def _in_a_home_that_tracks_hardly_anything(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("*\n")
    return _without_repository(folder / "project")


@pytest.mark.parametrize(
    "made",
    [_plain, _below_its_repository, _worktree, _excluded_by_the_repository_alone],
)
async def test_what_git_ignores_counts_and_what_it_tracks_does_not(
    made: Callable[[Path], Path], tmp_path: Path
) -> None:
    async with house(tmp_path, [shell(MAKE), {"text": "ok"}]) as h, await h.client() as client:
        assert await ignored(h, client, made(tmp_path / "made")) == {"__pycache__/a.pyc", "run.log"}


@pytest.mark.parametrize("made", [_without_repository, _in_a_home_that_tracks_hardly_anything])
async def test_without_a_repository_of_its_own_the_folder_s_gitignore_counts(
    made: Callable[[Path], Path], tmp_path: Path
) -> None:
    async with house(tmp_path, [shell(MAKE), {"text": "ok"}]) as h, await h.client() as client:
        assert await ignored(h, client, made(tmp_path / "made")) == {"__pycache__/a.pyc", "run.log", "kept.log"}


def _pipe(folder: Path) -> None:
    (folder / ".gitignore").unlink()
    os.mkfifo(folder / ".gitignore")


def _split_index(folder: Path) -> None:
    git(folder, "update-index", "--split-index")


def _broken_index(folder: Path) -> None:
    (folder / ".git" / "index").write_bytes(b"no index")


@pytest.mark.parametrize("harm", [_pipe, _split_index, _broken_index])
async def test_what_cannot_be_told_counts_as_not_ignored(harm: Callable[[Path], None], tmp_path: Path) -> None:
    async with house(tmp_path, [shell(MAKE), {"text": "ok"}]) as h, await h.client() as client:
        repository(h.workspace)
        harm(h.workspace)
        assert await ignored(h, client, h.workspace) == set()


async def test_a_folder_that_became_a_link_hides_no_mark_of_other_files(tmp_path: Path) -> None:
    away = shell("mv made away && ln -s away made && echo x > run.log")
    script = [shell("mkdir made && echo x > made/a.log"), {"text": "ok"}, away, {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        repository(h.workspace)
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        files = (await ask(client, SessionChanges, session=session, turn=2)).files
        assert "run.log" in {file.path for file in files if file.ignored}


async def test_a_copy_s_changes_are_marked_too(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        repository(h.workspace)
        copy = await ask(client, WorkspacesCreate, cwd=str(h.workspace), name="try")
        for name in ("app.py", "run.log", "kept.log"):
            Path(copy.path, name).write_text("changed\n")
        files = (await ask(client, WorkspacesDiff, copy=copy.id)).files
        assert {file.path: file.ignored for file in files} == {"app.py": False, "run.log": True, "kept.log": False}
