"""write_file and edit_file."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.tools.edit_file import edit_file
from openagent.tools.read_file import read_file
from openagent.tools.write_file import write_file

from .bench import Bench

pytestmark = pytest.mark.anyio


async def test_a_new_file_gets_its_parents_and_an_old_one_keeps_its_mode_and_a_backup(bench: Bench) -> None:
    assert await bench.text(write_file, path="a/b/c.txt", content="one\n") == "Created a/b/c.txt: 4 bytes."
    file = bench.workspace / "a/b/c.txt"
    file.chmod(0o751)
    replaced = await bench.run(write_file, path=str(file), content="two\nthree\n")
    assert replaced.text.startswith("Replaced")
    assert (replaced.display.added, replaced.display.removed) == (2, 1)
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("two\nthree\n", 0o751)
    assert bench.backups() == [b"one\n"]
    assert os.listdir(file.parent) == ["c.txt"]
    assert stat.S_IMODE((bench.scratch / "backups").stat().st_mode) == 0o700


async def test_new_files_follow_the_umask(bench: Bench) -> None:
    before = os.umask(0o027)
    try:
        await bench.text(write_file, path="a.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((bench.workspace / "a.txt").stat().st_mode) == 0o640


async def test_a_directory_is_not_replaced(bench: Bench) -> None:
    (bench.workspace / "folder").mkdir()
    assert "is a directory" in await bench.refusal(write_file, path="folder", content="x")
    assert ". is a directory" in await bench.refusal(write_file, path=".", content="x")
    bench.write("file", "x")
    assert "not a directory" in await bench.refusal(write_file, path="file/below", content="x")


async def test_one_edit_or_several_in_order(bench: Bench) -> None:
    file = bench.write("a.py", "x = 1\ny = x\n")
    assert await bench.text(edit_file, path="a.py", old="x = 1", new="x = 2") == "Edited a.py: +1 −1 lines."
    edits = [{"old": "x = 2", "new": "z = 3"}, {"old": "z = 3\ny", "new": "w"}, {"old": "x", "new": "z", "all": True}]
    await bench.text(edit_file, path="a.py", edits=edits)
    assert file.read_text() == "w = z\n"


async def test_several_edits_are_made_all_or_none(bench: Bench) -> None:
    file = bench.write("a.txt", "one two")
    edits = [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]
    told = await bench.refusal(edit_file, path="a.txt", edits=edits)
    assert told.startswith("Edit 2: The text to replace is not in a.txt.")
    assert file.read_text() == "one two"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "There is nothing to replace: give old and new, or edits."),
        ({"new": "x"}, "The text to replace is empty."),
        ({"old": "a", "new": "a"}, "The text to replace and its replacement are the same."),
        ({"old": "same", "new": "x"}, "is in a.py 2 times (lines 3, 4). Add lines around it, or set all."),
        (
            {"old": "def  f():\n  pass", "new": "x"},
            "differs in whitespace only; the file has:\n1\tdef f():\n2\t    pass",
        ),
        ({"old": "1\tdef f():\n2\t    pass", "new": "x"}, "It seems to hold the line numbers that read_file shows"),
        ({"old": "def f():\n    return", "new": "x"}, "The nearest lines are:\n1\tdef f():\n2\t    pass"),
        ({"old": "unlike_anything_else_here", "new": "x"}, "is not in a.py. Nothing was written."),
        (
            {"old": "the same thing = 0", "new": "the same thing = 1"},
            "is not in a.py, but its replacement is, at line 3: this edit may have been made already. Nothing",
        ),
        ({"old": "the same thing = 2", "new": "x"}, "The nearest lines are:\n3\tthe same thing = 1"),
    ],
)
async def test_an_edit_that_does_not_fit_says_what_is_there(bench: Bench, arguments: dict[str, str], told: str) -> None:
    content = "def f():\n    pass\nthe same thing = 1\nsame\n"
    file = bench.write("a.py", content)
    assert told in await bench.refusal(edit_file, path="a.py", **arguments)
    assert file.read_text() == content


async def test_line_endings_are_kept(bench: Bench) -> None:
    file = bench.write("dos.txt", "one\r\ntwo\r\nthree\r\n")
    await bench.text(edit_file, path="dos.txt", old="one\ntwo", new="1\n2\n2½")
    assert file.read_bytes() == "1\r\n2\r\n2½\r\nthree\r\n".encode()


async def test_an_edit_of_a_file_that_changed_since_it_was_read_is_refused_with_the_diff(bench: Bench) -> None:
    file = bench.write("a.txt", "one\ntwo\n")
    await bench.text(read_file, path="a.txt")
    file.write_text("one\ntwo\nsomeone else's\n")
    told = await bench.refusal(edit_file, path="a.txt", old="two", new="2")
    assert "a.txt has changed since you read it. Nothing was written." in told
    assert "+someone else's" in told
    assert file.read_text() == "one\ntwo\nsomeone else's\n"
    await bench.text(edit_file, path="a.txt", old="two", new="2")
    assert file.read_text() == "one\n2\nsomeone else's\n"


async def test_a_whole_file_is_not_written_over_what_someone_else_wrote(bench: Bench) -> None:
    file = bench.write("a.txt", "one\n")
    await bench.text(read_file, path="a.txt")
    file.write_text("theirs\n")
    assert "+theirs" in await bench.refusal(write_file, path="a.txt", content="mine\n")
    assert file.read_text() == "theirs\n"


async def test_a_large_change_must_be_read_again(bench: Bench) -> None:
    file = bench.write("a.txt", "one\n")
    await bench.text(read_file, path="a.txt")
    file.write_text("line\n" * 5000)
    for _ in range(2):
        told = await bench.refusal(edit_file, path="a.txt", old="line", new="x", all=True)
        assert told.endswith("Read it again.")
    await bench.text(read_file, path="a.txt", lines=1)
    await bench.text(edit_file, path="a.txt", old="line", new="x", all=True)


async def test_a_file_that_was_only_touched_or_never_read_may_be_edited(bench: Bench) -> None:
    file = bench.write("a.txt", "one\n")
    await bench.text(read_file, path="a.txt")
    os.utime(file, (1, 1))
    await bench.text(edit_file, path="a.txt", old="one", new="two")
    await bench.text(edit_file, path="a.txt", old="two", new="three")
    bench.write("b.txt", "one\n")
    await bench.text(edit_file, path="b.txt", old="one", new="two")


async def test_a_file_that_is_no_text_or_too_large_is_not_edited(bench: Bench) -> None:
    bench.write("latin.txt", b"caf\xe9")
    assert await bench.refusal(edit_file, path="latin.txt", old="caf", new="x") == "latin.txt is not UTF-8 text."
    with (bench.workspace / "huge.txt").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    assert "too many to edit at once" in await bench.refusal(edit_file, path="huge.txt", old="a", new="b")
    assert (await bench.run(write_file, path="huge.txt", content="small")).display.summary == "5 bytes"
    assert (bench.workspace / "huge.txt").read_text() == "small"


async def test_what_cannot_be_written_changes_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bench.write("a.txt", "one")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    told = await bench.refusal(write_file, path="a.txt", content="two")
    await bench.refusal(write_file, path="new/folder/b.txt", content="two")
    assert told == "a.txt cannot be used: No space left on device."
    assert (os.listdir(bench.workspace), file.read_text()) == (["a.txt"], "one")


texts = st.text(st.sampled_from("ab\n "), max_size=30)


@settings(max_examples=150, deadline=None)
@given(
    content=texts,
    edits=st.lists(st.tuples(st.text(st.sampled_from("ab\n "), max_size=3), texts, st.booleans()), max_size=4),
)
async def test_edits_equal_replace_or_leave_every_byte(
    tmp_path_factory: pytest.TempPathFactory, content: str, edits: list[tuple[str, str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("edits")
    bench = Bench(folder, folder.parent / "scratch")
    file: Path = bench.write("a.txt", content)
    expected: str | None = content if edits else None
    for old, new, everywhere in edits:
        if expected is not None:
            fits = old and old != new and (expected.count(old) == 1 or (everywhere and old in expected))
            expected = expected.replace(old, new) if fits else None
    outcome = await bench.run(
        edit_file, path="a.txt", edits=[{"old": old, "new": new, "all": all_} for old, new, all_ in edits]
    )
    assert outcome.is_error is (expected is None)
    assert file.read_bytes() == (content if expected is None else expected).encode()
    assert os.listdir(folder) == ["a.txt"]
