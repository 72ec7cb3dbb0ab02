"""apply_patch, in both notations."""

import difflib
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.plugins.tool import Tool
from openagent.policy.facts import CallFacts
from openagent.policy.units import units_of
from openagent.tools.apply_patch import apply_patch
from openagent.tools.read_file import read_file

from .bench import Bench

pytestmark = pytest.mark.anyio

SOURCE = """\
class A:
    def first(self):
        return 1

    def second(self):
        return 1


class B:
    def second(self):
        return 1
"""


def sections(text: str) -> str:
    return f"*** Begin Patch\n{text.strip(chr(10))}\n*** End Patch\n"


def tree(bench: Bench) -> dict[str, str]:
    return {
        str(file.relative_to(bench.workspace)): file.read_text()
        for file in sorted(bench.workspace.rglob("*"))
        if file.is_file()
    }


async def test_files_are_added_changed_moved_and_deleted_at_once(bench: Bench) -> None:
    bench.write("a.py", SOURCE)
    bench.write("old.txt", "one\ntwo\n").chmod(0o755)
    bench.write("gone.txt", "bye\n")
    patch = sections("""
*** Add File: new/file.txt
+first
+
+third
*** Update File: a.py
@@ class B:
@@     def second(self):
-        return 1
+        return 2
*** Update File: old.txt
*** Move to: moved/new.txt
@@
 one
-two
+2
*** Delete File: gone.txt
""")
    outcome = await bench.run(apply_patch, patch=patch)
    assert outcome.text == "Done:\nA new/file.txt\nM a.py\nR old.txt -> moved/new.txt\nD gone.txt"
    assert tree(bench) == {
        "a.py": SOURCE[: SOURCE.rindex("1")] + "2\n",
        "moved/new.txt": "one\n2\n",
        "new/file.txt": "first\n\nthird\n",
    }
    assert stat.S_IMODE((bench.workspace / "moved/new.txt").stat().st_mode) == 0o755
    assert sorted(bench.backups()) == sorted([SOURCE.encode(), b"one\ntwo\n", b"bye\n"])
    assert (outcome.display.added, outcome.display.removed) == (3 + 1 + 2, 1 + 2 + 1)


async def test_a_unified_diff_adds_changes_moves_and_deletes(bench: Bench) -> None:
    bench.write("a.py", SOURCE)
    bench.write("old.txt", "one\ntwo\n")
    bench.write("gone.txt", "bye\n")
    patch = """\
diff --git a/a.py b/a.py
index 123..456 100644
--- a/a.py
+++ b/a.py
@@ -10,2 +10,3 @@ class B:
     def second(self):
-        return 1
+        # changed
+        return 2
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+no newline
\\ No newline at end of file
--- a/old.txt\t2020-01-01
+++ b/moved.txt
@@ -1,2 +1,2 @@
 one
-two
+2
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""
    await bench.text(apply_patch, patch=patch)
    assert tree(bench) == {
        "a.py": SOURCE[: SOURCE.rindex("        return 1")] + "        # changed\n        return 2\n",
        "moved.txt": "one\n2\n",
        "new.txt": "no newline",
    }


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (sections("*** Add File: a.py\n+x"), "a.py exists already: use *** Update File."),
        (sections("*** Update File: none.py\n-x\n+y"), "none.py does not exist."),
        (sections("*** Delete File: none.py"), "none.py does not exist."),
        (sections("*** Update File: a.py"), "It changes nothing in a.py."),
        (sections("*** Update File: a.py\n@@ class C:\n-x\n+y"), "there is no line 'class C:'"),
        (sections("*** Update File: a.py\n@@\n-        return 7\n+y"), "these lines are not there:\n        return 7"),
        (sections("*** Update File: a.py\n*** Move to: b.txt\n@@\n-class A:\n+class C:"), "b.txt exists already."),
        (sections("*** Add File: ../x.py\n+x"), "is outside the workspace"),
        (sections("*** Add File: c.py\nx"), "does not begin with +"),
        (sections("x\n*** Add File: c.py\n+x"), "stands before the first"),
        (sections(""), "It names no file."),
        ("hello", "The patch cannot be read."),
        ("--- a/a.py\n+++ b/a.py\n", "It changes nothing in a.py."),
        ("--- a/a.py\n+++ b/a.py\nclass A:\n", "stands before the first @@"),
        ('--- "a/a.py"\n+++ "b/a.py"\n@@ -1 +1 @@\n-x\n+y\n', "is quoted"),
        (
            "diff --git a/b.txt b/c.txt\nrename from b.txt\nrename to c.txt\n"
            "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-class A:\n+class C:\n",
            "is not followed by --- and +++ lines",
        ),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(bench: Bench, patch: str, told: str) -> None:
    bench.write("a.py", SOURCE)
    bench.write("b.txt", "b\n")
    before = tree(bench)
    good = "*** Update File: b.txt\n@@\n-b\n+c\n"
    assert told in await bench.refusal(apply_patch, patch=patch)
    if patch.startswith("*** Begin Patch\n*** ") and "Move" not in patch:
        combined = patch.replace("*** Begin Patch\n", "*** Begin Patch\n*** Add File: deep/new.txt\n+x\n" + good)
        assert told in await bench.refusal(apply_patch, patch=combined)
    assert tree(bench) == before
    assert sorted(os.listdir(bench.workspace)) == ["a.py", "b.txt"]


async def test_a_failure_half_way_is_taken_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a.txt", "a\n").chmod(0o741)
    bench.write("b.txt", "b\n")
    before = tree(bench)
    rename, calls = os.rename, iter(range(100))

    def fails_once(*arguments: object, **more: object) -> None:
        if next(calls) == 2:
            raise OSError(5, "Input/output error")
        rename(*arguments, **more)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(os, "rename", fails_once)
    patch = sections(
        "*** Add File: x/new.txt\n+x\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: b.txt\n@@\n-b\n+B"
    )
    assert await bench.refusal(apply_patch, patch=patch) == "b.txt cannot be used: Input/output error."
    assert tree(bench) == before
    assert sorted(os.listdir(bench.workspace)) == ["a.txt", "b.txt"]
    assert stat.S_IMODE((bench.workspace / "a.txt").stat().st_mode) == 0o741


async def test_careless_whitespace_and_line_endings_are_forgiven_and_kept(bench: Bench) -> None:
    file = bench.write("dos.py", "def f():  \r\n\treturn 1\r\n")
    await bench.text(apply_patch, patch=sections("*** Update File: dos.py\n@@\n def f():\n-    return 1\n+\treturn 2"))
    assert file.read_bytes() == b"def f():  \r\n\treturn 2\r\n"


async def test_one_file_may_be_named_twice_and_lines_may_be_only_added(bench: Bench) -> None:
    file = bench.write("a.txt", "one\ntwo")
    patch = "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: a.txt\n@@ 1\n+1½\n@@\n+end\n*** End of File"
    await bench.text(apply_patch, patch=sections(patch))
    assert file.read_text() == "1\n1½\ntwo\nend"


async def test_a_removed_line_that_looks_like_a_header_is_none(bench: Bench) -> None:
    file = bench.write("a.sql", "-- x\nselect 1;\n")
    await bench.text(apply_patch, patch="--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n select 1;\n")
    assert file.read_text() == "++ y\nselect 1;\n"


async def test_an_outdated_patch_is_refused_with_what_changed(bench: Bench) -> None:
    file = bench.write("a.txt", "one\ntwo\n")
    await bench.text(read_file, path="a.txt")
    file.write_text("one\ntwo\nthree\n")
    told = await bench.refusal(apply_patch, patch=sections("*** Update File: a.txt\n@@\n-one\n+1"))
    assert "+three" in told
    assert file.read_text() == "one\ntwo\nthree\n"


def test_policy_sees_every_file_that_a_patch_touches() -> None:
    tool: Tool = apply_patch
    patch = sections(
        "*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n*** Delete File: .git/hooks/d"
    )
    for text in (patch, "--- a/b\n+++ b/c\n@@ -1 +1 @@\n-x\n+y\n--- a/.git/hooks/d\n+++ /dev/null\n"):
        facts = CallFacts(
            "apply_patch",
            "write",
            tool.summarize({"patch": text}),
            "/ws",
            {"patch": text},
            tool.touches({"patch": text}).paths,
        )
        judged = {unit.argv[1] for unit in units_of(facts)}
        assert judged == set(tool.summarize({"patch": text}).split(", "))
        assert judged >= {"b", "c", ".git/hooks/d"}


lines = st.lists(st.sampled_from(["a", "b", " c", "", "--", "++", "@@"]), max_size=12)


@settings(max_examples=150, deadline=None)
@given(before=lines, after=lines, final_newline=st.booleans(), context=st.integers(0, 3))
async def test_the_diff_of_two_texts_turns_one_into_the_other(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], final_newline: bool, context: int
) -> None:
    folder = tmp_path_factory.mktemp("patches")
    bench = Bench(folder, folder.parent / "scratch")
    end = "\n" if final_newline else ""
    old, new = ("\n".join(some) + (end if some else "") for some in (before, after))
    file = bench.write("a.txt", old)
    diff = list(difflib.unified_diff(before, after, "a/a.txt", "b/a.txt", lineterm="", n=context))
    if not diff or (not final_newline and (not before or not after or not before[-1] or not after[-1])):
        return
    outcome = await bench.run(apply_patch, patch="\n".join(diff) + "\n")
    assert not outcome.is_error, outcome.text
    assert file.read_text() == new
