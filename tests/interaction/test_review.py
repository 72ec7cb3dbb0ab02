"""Looking through what a session changed, and taking back files and hunks of it, seen through the client."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.review import Reverted, Review, ReviewedFile, ReviewRevert, ReviewShow
from openagent.protocol.undo import SessionChanges, SessionRedo, SessionUndo
from openagent.workspace.hunks import hunks_of, without

from .doing import ask, shell, turn
from .house import House, house, new_session, until

pytestmark = pytest.mark.anyio

LINES = [f"line {number}\n" for number in range(1, 41)]
START = "".join(LINES)


def edited(*changes: tuple[int, str]) -> str:
    lines = list(LINES)
    for number, text in changes:
        lines[number - 1] = text
    return "".join(lines)


async def talk(h: House, client: Client, turns: int) -> str:
    session = await new_session(h, client, mode="full")
    attachment = await client.attach(session)
    for _ in range(turns):
        ended, _ = await turn(client, attachment)
        assert ended.reason == "done"
    return session


async def show(client: Client, session: str, number: int | None = None) -> Review:
    return await ask(client, ReviewShow, session=session, turn=number)


async def test_a_patch_that_is_cut_is_told_whole_for_its_file_alone(tmp_path: Path) -> None:
    many = "for n in $(seq 9000); do echo line $n; done > long.txt; echo other > other.txt"
    async with house(tmp_path, script(shell(many))) as h, await h.client() as client:
        session = await talk(h, client, 1)
        cut = await file_of(client, session, "long.txt")
        assert cut.file.cut
        assert cut.file.added == 9000
        assert "+line 9000" not in cut.file.patch
        alone = await ask(client, ReviewShow, session=session, path="long.txt")
        assert [(each.file.path, each.version) for each in alone.files] == [("long.txt", cut.version)]
        assert not alone.files[0].file.cut
        assert alone.files[0].file.patch.splitlines()[-1] == "+line 9000"
        assert (await ask(client, ReviewShow, session=session, path="none.txt")).files == []


async def file_of(client: Client, session: str, path: str, number: int | None = None) -> ReviewedFile:
    return next(each for each in (await show(client, session, number)).files if each.file.path == path)


async def revert(client: Client, session: str, file: ReviewedFile, **fields: Any) -> Reverted:
    return await ask(client, ReviewRevert, session=session, path=file.file.path, version=file.version, **fields)


TWO_HUNKS = edited((3, "third\n"), (30, "thirtieth\n"))


def script(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Each call a turn of its own."""
    return [each for step in steps for each in (step, {"text": "done"})]


async def test_it_shows_what_was_changed_as_a_whole_and_by_turn_and_what_others_changed_apart(tmp_path: Path) -> None:
    steps = script(shell("printf 'x\\n' > a.txt"), shell("printf 'y\\n' >> a.txt; mkdir new; echo n > new/b.txt"))
    async with house(tmp_path, steps) as h, await h.client() as client:
        session = await talk(h, client, 2)
        (h.workspace / "mine.txt").write_text("by hand\n")
        (h.workspace / ".env").write_text("KEY=hush\n")
        found = await show(client, session)
        assert [(each.file.path, each.file.status, each.file.added) for each in found.files] == [
            ("a.txt", "A", 2),
            ("new/b.txt", "A", 1),
        ]
        assert [(each.turn, [file.file.path for file in each.files]) for each in found.turns] == [
            (1, ["a.txt"]),
            (2, ["a.txt", "new/b.txt"]),
        ]
        (others,) = found.others
        assert others.session == ""
        assert {file.path: "+" in file.patch for file in others.files} == {"mine.txt": True, ".env": False}
        for first in (1, 2):
            preview = (await ask(client, SessionChanges, session=session, turn=first, since=True)).files
            assert [(file.path, file.added) for file in preview] == [("a.txt", 3 - first), ("new/b.txt", 1)]
        second = await file_of(client, session, "a.txt", 2)
        assert (second.file.added, second.file.patch.count("\n+")) == (1, 2)  # with the line that names the file


async def test_a_hunk_is_taken_back_and_brought_again_and_the_rest_stays(tmp_path: Path) -> None:
    steps = script(shell("sed -i -e 's/^line 3$/third/' -e 's/^line 30$/thirtieth/' a.txt"))
    async with house(tmp_path, steps) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text(START)
        session = await talk(h, client, 1)
        file = await file_of(client, session, "a.txt")
        done = await revert(client, session, file, hunks=[2])
        assert (done.written, done.removed) == (["a.txt"], [])
        assert (h.workspace / "a.txt").read_text() == edited((3, "third\n"))
        left = await file_of(client, session, "a.txt")
        assert (left.file.added, left.file.removed) == (1, 1)
        with pytest.raises(OpenAgentError, match=r"has changed a\.txt since you looked\. Nothing was taken back"):
            await revert(client, session, file, hunks=[1])
        await ask(client, SessionRedo, session=session, undo=done.undo)
        assert (h.workspace / "a.txt").read_text() == TWO_HUNKS
        assert await file_of(client, session, "a.txt") == file
        await revert(client, session, file)
        assert (h.workspace / "a.txt").read_text() == START
        assert (await show(client, session)).files == []


async def test_what_others_wrote_stays_and_where_both_wrote_nothing_is_taken_back(tmp_path: Path) -> None:
    steps = script(shell("sed -i -e 's/^line 3$/third/' -e 's/^line 30$/thirtieth/' a.txt"))
    async with house(tmp_path, steps) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text(START)
        session = await talk(h, client, 1)
        theirs = edited((3, "mine\n"), (15, "fifteenth\n"), (30, "thirtieth\n"))
        (h.workspace / "a.txt").write_text(theirs)
        file = await file_of(client, session, "a.txt")
        assert file.file.others
        with pytest.raises(OpenAgentError, match=r"changed by others since in the same place\. Nothing was taken back"):
            await revert(client, session, file, hunks=[1])
        assert (h.workspace / "a.txt").read_text() == theirs
        done = await revert(client, session, file, hunks=[2])
        assert done.merged == ["a.txt"]
        assert (h.workspace / "a.txt").read_text() == edited((3, "mine\n"), (15, "fifteenth\n"))


async def test_a_hunk_taken_back_from_the_whole_is_gone_from_its_turn_and_a_rewind_still_goes_all_the_way(
    tmp_path: Path,
) -> None:
    steps = script(shell("sed -i 's/^line 3$/third/' a.txt"), shell("sed -i 's/^line 30$/thirtieth/' a.txt"))
    async with house(tmp_path, steps) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text(START)
        session = await talk(h, client, 2)
        await revert(client, session, await file_of(client, session, "a.txt"), hunks=[1])
        assert [each.turn for each in (await show(client, session)).turns] == [2]
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        assert (h.workspace / "a.txt").read_text() == START


async def test_new_moved_and_deleted_files_are_taken_back_whole(tmp_path: Path) -> None:
    steps = script(shell("rm gone.txt; mv old.txt moved.txt; mkdir new; echo n > new/b.txt"))
    async with house(tmp_path, steps) as h, await h.client() as client:
        (h.workspace / "gone.txt").write_text("gone\n")
        (h.workspace / "old.txt").write_text(START)
        session = await talk(h, client, 1)
        files = {each.file.path: each for each in (await show(client, session)).files}
        assert {path: each.file.status for path, each in files.items()} == {
            "gone.txt": "D",
            "moved.txt": "R",
            "new/b.txt": "A",
        }
        with pytest.raises(OpenAgentError, match="has no hunks"):
            await revert(client, session, files["gone.txt"], hunks=[1])
        for file in files.values():
            await revert(client, session, file)
        left = sorted(str(path.relative_to(h.workspace)) for path in h.workspace.rglob("*") if path.is_file())
        assert left == ["gone.txt", "old.txt"]
        assert (await show(client, session)).files == []


async def test_it_is_told_in_the_session_and_refused_while_a_turn_runs(tmp_path: Path) -> None:
    steps = [shell("echo n > b.txt"), {"text": "done"}, {"text": "slow", "fault": {"name": "stall", "after": 1}}]
    async with house(tmp_path, steps) as h, await h.client() as client:
        session = await new_session(h, client, mode="full")
        attachment = await client.attach(session)
        await turn(client, attachment)
        file = await file_of(client, session, "b.txt")
        done = await revert(client, session, file)
        told = (await until(attachment, lambda event: isinstance(event, e.CheckpointRestored)))[-1]
        assert isinstance(told, e.CheckpointRestored)
        assert (told.reverted, told.undo, told.conversation) == ("b.txt", done.undo, False)
        await ask(client, SessionRedo, session=session, undo=done.undo)
        await client.send(session, "again")
        with pytest.raises(OpenAgentError, match="in the middle of a turn"):
            await revert(client, session, await file_of(client, session, "b.txt"))


texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\n", b"@@ -1 +1 @@\n", b"end"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(before=texts.map(b"".join), after=texts.map(b"".join), data=st.data())
def test_without_a_hunk_every_other_byte_stays(before: bytes, after: bytes, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        for name, text in (("before", before), ("after", after)):
            (Path(folder) / name).write_bytes(text)
        command = ["git", "diff", "--no-index", "--text", "-U1", "before", "after"]
        hunks = hunks_of(subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout)
    assert without(before, after, hunks, []) == after
    assert without(before, after, hunks, range(1, len(hunks) + 1)) == before
    if hunks:
        number = data.draw(st.integers(1, len(hunks)))
        hunk = hunks[number - 1]
        old, new = lines_of(before), lines_of(after)
        expected = [*new[: hunk.new_start], *old[hunk.old_start : hunk.old_end], *new[hunk.new_end :]]
        assert without(before, after, hunks, [number]) == b"".join(expected)


def lines_of(text: bytes) -> list[bytes]:
    *whole, last = text.split(b"\n")
    return [*(line + b"\n" for line in whole), *([last] if last else [])]
