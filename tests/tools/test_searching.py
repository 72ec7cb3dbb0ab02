"""list_dir, glob and grep."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from openagent.jail.host import HostJail
from openagent.tools import grep as grep_module
from openagent.tools.glob import MAX_FILES, glob
from openagent.tools.grep import grep
from openagent.tools.list_dir import list_dir
from openagent.tools.shell import shell

from .bench import Bench

pytestmark = pytest.mark.anyio

Make = Callable[..., Bench]


@pytest.fixture
def project(bench: Bench) -> Bench:
    files = {
        ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules/\ndocs/*.tmp\n",
        "src/app.py": "import os\n\ndef main():\n    return os.name\n",
        "src/deep/er/util.ts": "export const x = 1\n",
        "src/deep/.gitignore": "secret*\n",
        "src/deep/secret.ts": "const hidden = 1\n",
        "src/build/kept.py": "import kept\n",
        "build/out.py": "import os\n",
        "debug.log": "import os\n",
        "keep.log": "import os\n",
        "node_modules/m/index.js": "import os\n",
        "docs/a.tmp": "import os\n",
        "docs/sub/b.tmp": "import os\n",
        ".github/ci.yml": "import: os\n",
        ".git/config": "import os\n",
        "blob.bin": "import os\n\0",
    }
    for age, (name, content) in enumerate(files.items()):
        os.utime(bench.write(name, content), (1_000_000 - age, 1_000_000 - age))
    (bench.workspace / "link.py").symlink_to("src/app.py")
    return bench


async def test_a_directory_is_listed_folders_first(project: Bench) -> None:
    listed = (await project.text(list_dir)).splitlines()
    assert listed[:2] == [".git/", ".github/"]
    assert listed[-4:] == ["blob.bin (11)", "debug.log (10)", "keep.log (10)", "link.py -> src/app.py"]
    assert await project.text(list_dir, path="src") == "build/\ndeep/\napp.py (42)"
    assert "not a directory" in await project.refusal(list_dir, path="src/app.py")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"pattern": "**/*.py"}, ["src/app.py", "src/build/kept.py"]),
        ({"pattern": "*.{ts,tsx}"}, ["src/deep/er/util.ts"]),
        ({"pattern": "src/*.py"}, ["src/app.py"]),
        ({"pattern": "src/**"}, ["src/app.py", "src/deep/er/util.ts", "src/deep/.gitignore", "src/build/kept.py"]),
        ({"pattern": "**/er/**/*"}, ["src/deep/er/util.ts"]),
        ({"pattern": "*.log"}, ["keep.log"]),
        ({"pattern": "**/*.tmp"}, ["docs/sub/b.tmp"]),
        ({"pattern": "*.yml"}, [".github/ci.yml"]),
        ({"pattern": "[ab]pp.py"}, ["src/app.py"]),
        ({"pattern": "**/*.ts", "path": "src/deep"}, ["src/deep/er/util.ts"]),
        ({"pattern": "er/*", "path": "src/deep"}, ["src/deep/er/util.ts"]),
        ({"pattern": "out.py", "path": "build"}, ["build/out.py"]),
        ({"pattern": "*.nothing"}, ["No file matches."]),
    ],
)
async def test_globs_find_files_newest_first_and_leave_out_what_is_ignored(
    project: Bench, arguments: dict[str, str], found: list[str]
) -> None:
    assert (await project.text(glob, **arguments)).splitlines() == found


async def test_globs_are_bounded_and_a_hostile_pattern_is_quick(bench: Bench) -> None:
    for number in range(MAX_FILES + 5):
        bench.write(f"{number}.txt", "")
    assert (await bench.text(glob, pattern="*.txt")).endswith("\n[5 more]")
    bench.write("a" * 250, "")
    assert await bench.text(glob, pattern="*a" * 60 + "b") == "No file matches."
    bench.write("/".join("a" * 30) + "/x", "")
    assert await bench.text(glob, pattern="**/a/" * 12 + "b") == "No file matches."
    assert await bench.text(glob, pattern="{a,b}" * 30) == "No file matches."


@pytest.fixture(params=["ripgrep", "own"])
async def searched(request: pytest.FixtureRequest, project: Bench, tmp_path: Path) -> Bench:
    """Once with ripgrep on PATH, once without."""
    if request.param == "ripgrep":
        if shutil.which("rg") is None:
            pytest.skip("there is no ripgrep")
        return project
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "head", "cat"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    project.jail = HostJail(env={"PATH": str(tools)})
    return project


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (
            {"pattern": "import os"},
            ["keep.log:1:import os", "src/app.py:1:import os", "docs/sub/b.tmp:1:import os"],
        ),
        ({"pattern": "IMPORT.OS", "ignore_case": True, "glob": "*.py"}, ["src/app.py:1:import os"]),
        ({"pattern": "import", "glob": "!*.{py,tmp,log}"}, [".github/ci.yml:1:import: os"]),
        ({"pattern": "os", "mode": "files", "path": "src"}, ["src/app.py"]),
        ({"pattern": "os", "mode": "count", "path": "src/app.py"}, ["src/app.py:2"]),
        (
            {"pattern": "^def", "around": 1},
            ["src/app.py-2-", "src/app.py:3:def main():", "src/app.py-4-    return os.name"],
        ),
        ({"pattern": "hidden"}, ["Nothing matches."]),
        ({"pattern": "-x"}, ["Nothing matches."]),
        ({"pattern": "kept", "path": "link.py"}, ["Nothing matches."]),
        ({"pattern": "main", "path": "link.py"}, ["src/app.py:3:def main():"]),
        ({"pattern": "os", "path": "build"}, ["build/out.py:1:import os"]),
    ],
)
async def test_grep_finds_the_same_with_ripgrep_and_without(
    searched: Bench, arguments: dict[str, object], found: list[str]
) -> None:
    assert sorted((await searched.text(grep, **arguments)).splitlines()) == sorted(found)


async def test_groups_of_context_are_set_apart(searched: Bench) -> None:
    searched.write("n.txt", "".join(f"{n}\n" for n in range(1, 10)))
    searched.write("z.txt", "8\n")
    text = await searched.text(grep, pattern="^[148]$", path=".", glob="*.txt", around=1)
    assert text.splitlines() == [
        *("n.txt:1:1", "n.txt-2-2", "n.txt-3-3", "n.txt:4:4", "n.txt-5-5", "--", "n.txt-7-7", "n.txt:8:8", "n.txt-9-9"),
        *("--", "z.txt:1:8"),
    ]


async def test_what_grep_prints_is_bounded(searched: Bench) -> None:
    searched.write("many.txt", "needle in the hay\n" * 100_000)
    searched.write("wide.txt", "needle" + "x" * 3_000_000 + "\n")
    text = await searched.text(grep, pattern="needle", path="many.txt")
    assert text.endswith("[the first 250 lines; there is more: narrow the search]")
    wide = await searched.text(grep, pattern="needle", path="wide.txt")
    assert (len(wide), wide[-1]) == (len("wide.txt:1:") + 401, "…")


async def test_a_pattern_that_is_none_is_explained(searched: Bench) -> None:
    assert "not a regular expression" in await searched.refusal(grep, pattern="(")


async def test_a_pattern_that_would_take_for_ever_is_given_up(searched: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    searched.write("aaa.txt", "a" * 40 + "b\n")
    monkeypatch.setattr(grep_module, "TIMEOUT", 2.0)
    outcome = await searched.run(grep, pattern="^(a+)+$", path="aaa.txt")
    assert outcome.text.startswith(("Nothing matches.", "The search took too long."))


async def test_long_output_can_be_searched(bench: Bench) -> None:
    text = await bench.text(shell, command="seq 1 20000")
    name = text.split("read_file ")[1].split()[0]
    assert (await bench.text(grep, pattern="^1999[89]$", path=name)).splitlines() == [
        f"{name.removeprefix('output:')}:19998:19998",
        f"{name.removeprefix('output:')}:19999:19999",
    ]
