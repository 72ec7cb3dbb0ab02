"""A change as it is laid out for every terminal."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from openagent.client.diff import Line, cells, counted, laid_out, read

LINES = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs", "S"]), max_size=40), max_size=12)
CHANGE = """--- src/retry.py
+++ src/retry.py
@@ -37,5 +37,6 @@ class Retry:
     def wait(self) -> float:
-        now = clock()
-        return max(0.0, self.until - now)
+        now = self._now
+        return max(0.0, self.deadline - now)
+        # added
     # the same
     def other(self):
"""


def _shown(line: Line) -> str:
    return "".join(piece.text for piece in line.pieces).rstrip()


def _changed(line: Line) -> list[str]:
    return [piece.text for piece in line.pieces if piece.changed]


def test_each_line_has_its_numbers_its_sign_and_its_changed_words() -> None:
    lines = laid_out(CHANGE, 80)
    assert [_shown(line) for line in lines] == [
        "src/retry.py +3 −2",
        "      ⋯ class Retry:",
        "37 37       def wait(self) -> float:",
        "38    -         now = clock()",
        "39    -         return max(0.0, self.until - now)",
        "   38 +         now = self._now",
        "   39 +         return max(0.0, self.deadline - now)",
        "   40 +         # added",
        "40 41       # the same",
        "41 42       def other(self):",
    ]
    assert [_changed(line) for line in lines[3:8]] == [["clock()"], ["until"], ["self._now"], ["deadline"], []]


def test_code_has_its_own_colours_on_both_sides() -> None:
    looks = {(line.kind, piece.text): piece.look for line in laid_out(CHANGE, 80) for piece in line.pieces}
    assert looks["same", "def"] == "keyword"
    assert looks["removed", "return"] == looks["added", "return"] == "keyword"
    assert looks["added", "# added"] == "comment"


def test_a_line_too_long_for_the_screen_goes_on_below_and_loses_nothing() -> None:
    long = "one two three " * 20
    lines = laid_out(f"--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-{long}\n+{long}more\n", 50)
    added = [line for line in lines if line.kind == "added"]
    assert len(added) > 5
    assert all(cells(_shown(line)) <= 50 for line in lines)
    assert "".join("".join(piece.text for piece in line.pieces[2:]) for line in added) == f"{long}more"


def test_a_removed_line_that_looks_like_a_header_is_a_removed_line() -> None:
    rows = read("--- q.sql\n+++ q.sql\n@@ -1,2 +1,1 @@\n--- a comment\n select 1\n")
    assert [(row.kind, row.text) for row in rows] == [
        ("file", "q.sql"),
        ("removed", "-- a comment"),
        ("same", "select 1"),
    ]


def test_a_patch_in_the_models_own_form_is_read_too() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@ def f\n-one\n+two\n*** Delete File: b.py\n*** End Patch\n"
    assert [tuple(file) for file in counted(patch)] == [("a.py", 1, 1), ("b.py (deleted)", 0, 0)]


@given(LINES, LINES, st.integers(20, 120))
def test_nothing_of_a_change_is_left_out_and_every_number_is_right(old: list[str], new: list[str], width: int) -> None:
    patch = "\n".join(difflib.unified_diff(old, new, "f", "f", lineterm=""))
    rows = read(patch)
    for row in rows:
        if row.old:
            assert row.text == old[row.old - 1]
        if row.new:
            assert row.text == new[row.new - 1]
    shown = laid_out(patch, width)
    assert "".join(piece.text for line in shown if line.kind == "added" for piece in line.pieces[2:]) == "".join(
        row.text for row in rows if row.kind == "added"
    )
