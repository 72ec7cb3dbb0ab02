"""What .gitignore files leave out, beside git itself: whatever the rules and the tree."""

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from openagent.filesystem.beneath import open_root
from openagent.filesystem.walking import walk

_NAMES = st.sampled_from(["a", "b", "ab", "a.log", "build", "keep", "a b", "[x]", "a*b", "#c", "!d", ".h"])
_PLAIN = ["a", "b", "ab", "build", ".h", r"\#c", r"\!d", r"a\ b", r"\[x\]", r"a\*b"]
_WILD = ["*", "**", "*.log", "a*", "?", "?*", "k??p", "[ab]", "[!a]", "[^a]*", "[a-c]*"]
_PARTS = st.sampled_from([*_PLAIN, *_WILD])


@st.composite
def _rule(draw: st.DrawFn) -> str:
    back, root = draw(st.sampled_from(["", "", "", "!"])), draw(st.sampled_from(["", "", "/"]))
    parts = draw(st.lists(_PARTS, min_size=1, max_size=3))
    return back + root + "/".join(parts) + draw(st.sampled_from(["", "", "/", " "]))


_FILES = st.lists(st.lists(_NAMES, min_size=1, max_size=3).map("/".join), min_size=4, max_size=20, unique=True)


@settings(max_examples=30)
@given(rules=st.lists(_rule(), min_size=1, max_size=6), files=_FILES)
@example(rules=["[^a]*"], files=["a", "b", "ab"])
@example(rules=["a/**/"], files=["a/b", "a/build/keep"])
def test_the_walk_leaves_out_what_git_ignores(rules: list[str], files: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in files:
            if not any(f"{other}/".startswith(f"{name}/") for other in files if other != name):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
        (root / ".gitignore").write_text("\n".join([*rules, "!.gitignore", ""]))
        git = ["git", "-C", folder]
        subprocess.run([*git, "init", "-q"], check=True)
        told = subprocess.run([*git, "ls-files", "-z", "-o", "--exclude-standard"], check=True, capture_output=True)
        ours = {each.path for each in walk(open_root(root), lambda path, name, folder: path == ".git")}
        assert ours == {os.fsdecode(each) for each in told.stdout.split(b"\0") if each}
