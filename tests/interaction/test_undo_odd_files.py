"""Whatever a command leaves in the workspace, the turn goes on, and undo knows what the command did."""

import os
import stat
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.undo import SessionChanges, SessionUndo
from tests.workspace.trees import git, manifest

from .doing import ask, one_turn, shell
from .house import house

pytestmark = pytest.mark.anyio


async def _changed(client: Client, session: str) -> dict[str, str]:
    return {each.path: each.status for each in (await ask(client, SessionChanges, session=session)).files}


@pytest.mark.parametrize(
    "command",
    [
        r"mkdir q; rm -r q; printf 'a\0b' > q",
        "mkdir q; rm -r q; echo own.txt > q",
        "mkdir q; rm -r q; ln -s own.txt q",
        "mkdir q; rm -r q; ln -s /etc q",
    ],
)
async def test_a_file_where_a_folder_was_is_neither_followed_nor_removed(tmp_path: Path, command: str) -> None:
    async with house(tmp_path, [shell(command), {"text": "done"}]) as h, await h.client() as client:
        (h.workspace / "own.txt").write_text("mine\n")
        before = manifest(h.workspace)
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert not [event for event in seen if isinstance(event, e.ErrorRaised)]
        assert await _changed(client, session) == {"q": "A"}
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        assert manifest(h.workspace) == before


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("rm pipe; echo a > pipe; echo b > other", ["pipe"]),
        ("rm pipe; mkdir pipe; echo a > pipe/a; echo b > other", ["pipe", "pipe/a"]),
    ],
)
async def test_what_took_the_place_of_a_pipe_is_left_as_it_is_and_named(
    tmp_path: Path, command: str, left: list[str]
) -> None:
    async with house(tmp_path, [shell(command), {"text": "done"}]) as h, await h.client() as client:
        os.mkfifo(h.workspace / "pipe")
        session, _, _ = await one_turn(h, client)
        after = manifest(h.workspace)
        undone = await ask(client, SessionUndo, session=session, turn=1)
        assert undone.removed == ["other"]
        reason = "left as it is, where a pipe or a socket was, which undo cannot make again"
        assert {*undone.kept} == {f"{path}: {reason}" for path in left}
        assert manifest(h.workspace) == {path: each for path, each in after.items() if path != b"other"}


async def test_a_file_that_was_a_pipe_of_the_same_turn_is_undone(tmp_path: Path) -> None:
    commands = (shell("mkfifo pipe"), shell("rm pipe; echo a > pipe"))
    async with house(tmp_path, [*commands, {"text": "done"}]) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client)
        await ask(client, SessionUndo, session=session, turn=1)
        assert not (h.workspace / "pipe").exists()


async def test_git_clean_and_checkout_of_a_binary_that_was_a_folder_are_undone(tmp_path: Path) -> None:
    command = "git clean -fdq; git checkout -q -- ."
    async with house(tmp_path, [shell(command), {"text": "done"}]) as h, await h.client() as client:
        git(h.workspace, "init", "-q")
        (h.workspace / "picture").write_bytes(b"\x89PNG\0\0")
        git(h.workspace, "add", "-A")
        git(h.workspace, "commit", "-qm", "one")
        (h.workspace / "picture").unlink()
        (h.workspace / "picture").mkdir()
        (h.workspace / "picture" / "notes.txt").write_text("only here\n")
        before = manifest(h.workspace)
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert (h.workspace / "picture").is_file()
        assert await _changed(client, session) == {"picture": "A", "picture/notes.txt": "D"}
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        assert manifest(h.workspace) == before


async def test_odd_git_files_end_no_turn(tmp_path: Path) -> None:
    command = (
        r"mkdir one two three; printf 'gitdir: x\0y' > one/.git; mkfifo two/.git; mkdir -p three/.git; "
        r"printf 'a\0b' > three/.git/commondir; touch three/.git/HEAD; echo 1 > plain.txt"
    )
    async with house(tmp_path, [shell(command), {"text": "done"}]) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        left = [path for path in h.workspace.rglob("*") if not path.is_dir()]
        assert [stat.S_ISFIFO(path.lstat().st_mode) for path in left] == [True], left
