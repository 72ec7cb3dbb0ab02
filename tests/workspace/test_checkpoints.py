"""Checkpoints: what is noticed, what is left out and said so, and what git state comes back."""

import asyncio
import itertools
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from openagent.plugins.workspace import LeftOut
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.copies import WorkspaceCopies
from openagent.workspace.scan import Limits
from tests.workspace.trees import Editor, git, manifest, taken

pytestmark = pytest.mark.anyio


async def test_nothing_changed_gives_no_checkpoint(checkpoints: GitCheckpoints, workspace: Path) -> None:
    (workspace / "file").write_text("one")
    first = await taken(checkpoints, workspace)
    assert await checkpoints.take(workspace, "session", 2) is None
    os.utime(workspace / "file")
    assert await checkpoints.take(workspace, "session", 3) is None
    other = await taken(checkpoints, workspace, "other")
    assert [entry.id for entry in await checkpoints.history("session")] == [first.id]
    assert [entry.id for entry in await checkpoints.history("other")] == [other.id]


async def test_a_change_of_the_same_size_right_after_a_checkpoint_is_noticed(
    checkpoints: GitCheckpoints, workspace: Path
) -> None:
    file = workspace / "file"
    file.write_text("one")
    times = os.stat(file)
    await taken(checkpoints, workspace)
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    await taken(checkpoints, workspace)


@pytest.mark.parametrize(
    "change", ["chmod 600 file", "mkdir empty", "rm file", "ln -sf other link", "chmod 700 folder"]
)
async def test_every_kind_of_change_is_noticed(checkpoints: GitCheckpoints, workspace: Path, change: str) -> None:
    (workspace / "file").write_text("one")
    (workspace / "link").symlink_to("file")
    (workspace / "folder").mkdir()
    first = await taken(checkpoints, workspace)
    before = manifest(workspace)
    subprocess.run(change, shell=True, cwd=workspace, check=True)
    second = await taken(checkpoints, workspace)
    changed = manifest(workspace)
    await checkpoints.restore(workspace, first.id)
    assert manifest(workspace) == before
    await checkpoints.restore(workspace, second.id)
    assert manifest(workspace) == changed


async def test_what_cannot_be_saved_is_named_and_never_removed(checkpoints: GitCheckpoints, workspace: Path) -> None:
    (workspace / "file").write_text("one")
    first = await taken(checkpoints, workspace)
    (workspace / "since").mkdir()
    os.mkfifo(workspace / "since" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workspace / "socket"))
    second = await taken(checkpoints, workspace)
    assert {left.path for left in second.left_out} == {"since/pipe", "socket"}
    assert (await checkpoints.history("session"))[-1].left_out == second.left_out
    restored = await checkpoints.restore(workspace, first.id)
    assert LeftOut("since/pipe", "could not be saved first") in restored.kept
    assert (workspace / "since" / "pipe").is_fifo()
    assert (workspace / "socket").is_socket()


async def test_what_may_not_be_read_is_named_and_not_fatal(checkpoints: GitCheckpoints, workspace: Path) -> None:
    (workspace / "file").write_text("one")
    (workspace / "closed").write_text("closed")
    (workspace / "folder").mkdir()
    (workspace / "closed").chmod(0)
    (workspace / "folder").chmod(0)
    if os.access(workspace / "closed", os.R_OK):
        pytest.skip("this user may read everything")
    first = await taken(checkpoints, workspace)
    assert first.left_out == [LeftOut("closed", "not readable"), LeftOut("folder", "not readable")]
    (workspace / "file").write_text("two")
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "file").read_text() == "one"
    assert (workspace / "closed").exists()


async def test_large_ignored_folders_are_left_out_and_said_so(home: Path, workspace: Path) -> None:
    checkpoints = GitCheckpoints(home, limits=Limits(ignored_files=20, ignored_file_bytes=1000))
    git(workspace, "init", "-q")
    (workspace / ".gitignore").write_text("node_modules/\nsmall/\n*.bin\n")
    for folder, count in (("node_modules/deep", 40), ("small", 3), ("source", 30)):
        (workspace / folder).mkdir(parents=True)
        for number in range(count):
            (workspace / folder / f"{number}.js").write_text(f"{number}")
    (workspace / "large.bin").write_bytes(bytes(2000))
    (workspace / "large.txt").write_bytes(bytes(2000))
    first = await taken(checkpoints, workspace)
    assert {left.path for left in first.left_out} == {"node_modules", "large.bin"}
    assert await checkpoints.take(workspace, "session", 2) is None

    (workspace / "node_modules/deep/0.js").write_text("changed")
    for gone in ("small/0.js", "source/0.js", "large.txt"):
        (workspace / gone).unlink()
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "node_modules/deep/0.js").read_text() == "changed"
    assert (workspace / "small/0.js").exists()
    assert (workspace / "source/0.js").exists()
    assert (workspace / "large.txt").read_bytes() == bytes(2000)

    (workspace / ".gitignore").write_text("")
    await taken(checkpoints, workspace)
    (workspace / "touch").write_text("")
    assert (await taken(checkpoints, workspace)).left_out == []


async def test_nobody_waits_for_a_pipe_that_is_called_gitignore(home: Path, workspace: Path) -> None:
    checkpoints = GitCheckpoints(home, limits=Limits(ignored_files=2))
    os.mkfifo(workspace / ".gitignore")
    for number in range(9):
        (workspace / f"{number}.js").write_text(f"{number}")
    async with asyncio.timeout(20):
        assert {left.path for left in (await taken(checkpoints, workspace)).left_out} == {".gitignore"}


async def test_a_link_is_never_followed(checkpoints: GitCheckpoints, workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (workspace / "folder").mkdir()
    (workspace / "folder" / "secret").write_text("inside")
    first = await taken(checkpoints, workspace)
    shutil.rmtree(workspace / "folder")
    (workspace / "folder").symlink_to(outside)
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "folder" / "secret").read_text() == "inside"
    assert (outside / "secret").read_text() == "secret"


async def test_attributes_and_filters_of_the_workspace_change_no_byte(
    checkpoints: GitCheckpoints, workspace: Path
) -> None:
    (workspace / ".gitattributes").write_text("* text=auto eol=crlf ident filter=evil working-tree-encoding=UTF-16\n")
    (workspace / "crlf").write_bytes(b"one\r\ntwo\n$Id$\n")
    first = await taken(checkpoints, workspace)
    (workspace / "crlf").unlink()
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "crlf").read_bytes() == b"one\r\ntwo\n$Id$\n"


async def test_the_diff_of_a_turn_names_every_file(checkpoints: GitCheckpoints, workspace: Path) -> None:
    (workspace / "edited").write_text("one\ntwo\nthree\n")
    (workspace / "moved").write_text("".join(f"line {number}\n" for number in range(30)))
    (workspace / "removed").write_text("gone\n")
    (workspace / "picture").write_bytes(bytes(range(256)))
    first = await taken(checkpoints, workspace)
    (workspace / "edited").write_text("one\n2\nthree\n")
    (workspace / "moved").rename(workspace / "new name")
    (workspace / "removed").unlink()
    (workspace / "picture").write_bytes(bytes(range(255, -1, -1)))
    (workspace / os.fsdecode(b"\xff")).write_text("added\n")
    changes = {change.path: change for change in await checkpoints.diff(workspace, first.id)}
    assert {path: (change.status, change.added, change.removed) for path, change in changes.items()} == {
        "edited": ("M", 1, 1),
        "new name": ("R", 0, 0),
        "removed": ("D", 0, 1),
        "picture": ("M", 0, 0),
        "\\xff": ("A", 1, 0),
    }
    assert changes["new name"].old_path == "moved"
    assert changes["picture"].binary
    assert "-two\n+2\n" in changes["edited"].patch
    second = await taken(checkpoints, workspace)
    assert await checkpoints.diff(workspace, first.id, second.id) == list(changes.values())


async def test_destructive_git_can_be_undone(checkpoints: GitCheckpoints, workspace: Path) -> None:
    git(workspace, "init", "-q", "-b", "main")
    (workspace / "file").write_text("one\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "one")
    git(workspace, "branch", "feature")
    (workspace / "file").write_text("stashed\n")
    git(workspace, "stash", "-q")
    (workspace / "file").write_text("two\n")
    git(workspace, "commit", "-qam", "two")
    (workspace / "staged").write_text("staged\n")
    git(workspace, "add", "staged")
    before = [git(workspace, *question) for question in _QUESTIONS]
    checkpoint = await taken(checkpoints, workspace)

    git(workspace, "reset", "-q", "--hard", "HEAD~1")
    git(workspace, "branch", "-qD", "feature")
    git(workspace, "stash", "drop", "-q")
    git(workspace, "checkout", "-q", "-b", "elsewhere")
    assert [git(workspace, *question) for question in _QUESTIONS] != before

    files_only = await checkpoints.restore(workspace, checkpoint.id)
    assert files_only.git_state == "untouched"
    assert git(workspace, "branch", "--show-current") == "elsewhere\n"
    restored = await checkpoints.restore(workspace, checkpoint.id, git_state=True)
    assert (restored.git_state, restored.git_detail) == ("restored", "")
    assert [git(workspace, *question) for question in _QUESTIONS] == before
    assert git(workspace, "fsck", "--connectivity-only") == ""


_QUESTIONS = (
    ("status", "--porcelain=v2", "--branch"),
    ("for-each-ref",),
    ("stash", "list"),
    ("log", "--format=%H %s", "-g"),
    ("diff", "--cached"),
)


async def test_git_state_without_its_objects_is_refused(checkpoints: GitCheckpoints, workspace: Path) -> None:
    git(workspace, "init", "-q")
    (workspace / "file").write_text("one\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "one")
    checkpoint = await taken(checkpoints, workspace)
    shutil.rmtree(workspace / ".git")
    git(workspace, "init", "-q")
    restored = await checkpoints.restore(workspace, checkpoint.id, git_state=True)
    assert restored.git_state == "refused"
    assert "lost" in restored.git_detail


async def test_takes_and_restores_of_one_workspace_wait_for_each_other(
    checkpoints: GitCheckpoints, home: Path, workspace: Path
) -> None:
    Editor(workspace, 1).edit(30)
    first = await taken(checkpoints, workspace)
    before = manifest(workspace)
    Editor(workspace, 2).edit(30)
    other = GitCheckpoints(home)
    await asyncio.gather(
        *(checkpoints.take(workspace, "a", turn) for turn in range(4)),
        *(other.take(workspace, "b", turn) for turn in range(4)),
        other.restore(workspace, first.id),
        checkpoints.diff(workspace, first.id),
    )
    assert manifest(workspace) == before
    for session in ("session", "a", "b"):
        for checkpoint in await checkpoints.history(session):
            await checkpoints.restore(workspace, checkpoint.id)


_KILLED_AT_A_STEP = """
import asyncio, os, signal, sys
from pathlib import Path
from openagent.workspace.checkpoints import GitCheckpoints

steps, fatal = 0, int(sys.argv[1])
def dying(function):
    def call(*arguments, **options):
        global steps
        steps += 1
        if steps == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
for name in ("rename", "replace", "unlink"):
    setattr(os, name, dying(getattr(os, name)))

async def main(home, workspace, goal):
    checkpoints = GitCheckpoints(Path(home))
    await checkpoints.take(Path(workspace), "killed", 1)
    await checkpoints.restore(Path(workspace), goal)
    print(steps)
asyncio.run(main(*sys.argv[2:]))
"""


async def test_being_killed_at_any_step_loses_nothing(checkpoints: GitCheckpoints, home: Path, workspace: Path) -> None:
    names = [f"{number}" for number in range(30)]

    def write(text: str) -> None:
        for name in names:
            (workspace / name).write_text(f"{text} {name}")

    def run(fatal: int) -> bytes:
        arguments = [sys.executable, "-c", _KILLED_AT_A_STEP, str(fatal), str(home), str(workspace), first.id]
        return subprocess.run(arguments, stdout=subprocess.PIPE, check=False).stdout

    write("one")
    first = await taken(checkpoints, workspace)
    before = manifest(workspace)
    write("two")
    assert run(0) != b""
    assert manifest(workspace) == before
    half_done = debris = 0
    for number in itertools.count():
        write(f"{number}")
        if run(fatal=1 + 7 * number) != b"":
            break
        found = [name for name in os.listdir(workspace) if name not in names]
        debris += len(found)
        texts = {(workspace / name).read_text().split()[0] for name in names}
        assert texts <= {"one", f"{number}"}
        half_done += len(texts) == 2
        await checkpoints.take(workspace, "session", 2)
        assert sorted(os.listdir(workspace)) == sorted(names)
        saved = (await checkpoints.history("killed"))[-1]
        await checkpoints.restore(workspace, first.id)
        assert manifest(workspace) == before
        await checkpoints.restore(workspace, saved.id)
    assert half_done > 1
    assert debris > 1


async def test_a_damaged_index_is_built_anew(checkpoints: GitCheckpoints, home: Path, workspace: Path) -> None:
    (workspace / "file").write_text("one")
    first = await taken(checkpoints, workspace)
    for index in home.glob("checkpoints/*/indexes/*"):
        index.write_bytes(index.read_bytes()[:20])
    assert await checkpoints.take(workspace, "session", 2) is None
    (workspace / "file").unlink()
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "file").read_text() == "one"


async def test_forgotten_sessions_are_collected_and_the_rest_still_restores(
    checkpoints: GitCheckpoints, copies: WorkspaceCopies, workspace: Path
) -> None:
    git(workspace, "init", "-q")
    editor = Editor(workspace, 3)
    states = list[tuple[str, dict[bytes, tuple[str, int, bytes]]]]()
    for turn in range(8):
        editor.edit(10)
        (workspace / "turn").write_bytes(os.urandom(5000))
        session = "kept" if turn % 2 else "gone"
        states.append(((await taken(checkpoints, workspace, session, turn)).id, manifest(workspace)))
    collected = await copies.gc(["kept"], keep=3)
    assert collected.checkpoints == 4 + 1
    assert collected.freed_bytes > 0
    assert await checkpoints.history("gone") == []
    assert [entry.turn for entry in await checkpoints.history("kept")] == [3, 5, 7]
    assert await checkpoints.take(workspace, "kept", 9) is None
    for checkpoint, state in states[3::2]:
        await checkpoints.restore(workspace, checkpoint)
        assert manifest(workspace) == state
    with pytest.raises(OpenAgentError, match="does not hold"):
        await checkpoints.restore(workspace, states[0][0])


async def test_without_git_the_error_says_what_to_do(
    checkpoints: GitCheckpoints, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(workspace))
    with pytest.raises(OpenAgentError, match=r"git is not installed.*Install git"):
        await checkpoints.take(workspace, "session", 1)


async def test_an_unknown_checkpoint_is_not_found(checkpoints: GitCheckpoints, workspace: Path) -> None:
    for name in ("0" * 40, "--help", "HEAD"):
        with pytest.raises(OpenAgentError) as problem:
            await checkpoints.restore(workspace, name)
        assert problem.value.info.code == "not_found"


async def test_own_data_inside_the_workspace_is_left_out(workspace: Path) -> None:
    checkpoints = GitCheckpoints(workspace / "data")
    (workspace / "file").write_text("one")
    first = await taken(checkpoints, workspace)
    assert [left.path for left in first.left_out] == ["data"]
    (workspace / "file").write_text("two")
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "file").read_text() == "one"


async def test_large_files_come_back(checkpoints: GitCheckpoints, workspace: Path) -> None:
    data = os.urandom(5_000_003)
    (workspace / "large").write_bytes(data)
    first = await taken(checkpoints, workspace)
    (workspace / "large").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    await taken(checkpoints, workspace)
    await checkpoints.restore(workspace, first.id)
    assert (workspace / "large").read_bytes() == data
