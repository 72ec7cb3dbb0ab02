"""Keeping an index true to the files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openagent.index.code_index import CodeIndex
from openagent.index.walk import MAX_FILE
from openagent.protocol.errors import OpenAgentError

pytestmark = pytest.mark.anyio


class Place:
    def __init__(self, root: Path) -> None:
        self.files = root / "workspace"
        self.files.mkdir()
        self.index = CodeIndex(root / "index")

    def write(self, path: str, text: str | bytes) -> None:
        file = self.files / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    async def found(self, query: str) -> set[str]:
        return {hit.path for hit in await self.index.search(self.files, query, 50)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_only_what_changed_is_read_again(place: Place) -> None:
    place.write("a.py", "def apple(): pass\n")
    place.write("b.py", "def banana(): pass\n")
    assert (await place.index.build(place.files)).indexed == 2
    assert (await place.index.build(place.files)).indexed == 0

    place.write("a.py", "def apricot(): pass\n")
    os.utime(place.files / "b.py")
    built = await place.index.build(place.files)
    assert (built.files, built.indexed, built.removed) == (2, 1, 0)
    assert await place.found("apple") == set()
    assert await place.found("apricot") == {"a.py"}
    assert await place.index.symbols(place.files, "apple") == []


async def test_a_removed_file_leaves_nothing_behind(place: Place) -> None:
    place.write("a.py", "def apple(): return banana()\n")
    place.write("kept.py", "def cherry(): pass\n")
    await place.index.build(place.files)
    (place.files / "a.py").unlink()
    assert (await place.index.build(place.files)).removed == 1
    status = await place.index.status(place.files)
    assert (status.files, status.chunks, status.symbols, status.references) == (1, 1, 1, 0)
    assert await place.found("apple banana") == set()


async def test_an_update_touches_the_named_files_alone(place: Place) -> None:
    for name in "abc":
        place.write(f"{name}.py", f"def old_{name}(): pass\n")
    await place.index.build(place.files)
    place.write("a.py", "def fresh(): pass\n")
    place.write("b.py", "def unseen(): pass\n")
    (place.files / "c.py").unlink()
    built = await place.index.update(place.files, ["a.py", "c.py", "../elsewhere.py"])
    assert (built.indexed, built.removed) == (1, 1)
    assert await place.found("fresh") == {"a.py"}
    assert await place.found("unseen") == set()


async def test_what_git_ignores_is_ignored(place: Place) -> None:
    place.write(".gitignore", "build/\n*.log\n!kept.log\n")
    place.write("build/apple.py", "apple = 1\n")
    place.write("noise.log", "apple\n")
    place.write("kept.log", "apple\n")
    place.write("sub/.gitignore", "own.py\n")
    place.write("sub/own.py", "apple = 1\n")
    place.write("sub/other.py", "apple = 1\n")
    place.write("node_modules/x/apple.js", "apple()\n")
    await place.index.build(place.files)
    assert await place.found("apple") == {"kept.log", "sub/other.py"}

    place.write(".gitignore", "")
    await place.index.build(place.files)
    assert await place.found("apple") >= {"build/apple.py", "noise.log"}


async def test_likely_secrets_are_not_indexed(place: Place) -> None:
    for name in (".env", ".env.local", "server.pem", "id_rsa"):
        place.write(name, "apple=1\n")
    await place.index.build(place.files)
    assert await place.found("apple") == set()


async def test_what_the_daemon_keeps_is_not_indexed_where_it_lies_inside(place: Place) -> None:
    place.write("mine.py", "apple = 1\n")
    place.write("[data]/logs/daemon.log", "apple\n")
    place.write(".ssh/config", "apple\n")
    place.index = CodeIndex(place.files / "[data]" / "index")
    await place.index.build(place.files)
    assert await place.found("apple") == {"mine.py"}


async def test_links_lead_neither_out_nor_round(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("apple = 1\n")
    place.write("real.py", "apple = 1\n")
    (place.files / "loop").symlink_to(place.files)
    (place.files / "out").symlink_to(outside)
    (place.files / "file.py").symlink_to(outside / "secret.py")
    (place.files / "a").symlink_to(place.files / "b")
    (place.files / "b").symlink_to(place.files / "a")
    os.mkfifo(place.files / "pipe.py")
    assert (await place.index.build(place.files)).files == 1
    assert (await place.index.update(place.files, ["out/secret.py", "file.py"])).files == 1
    assert await place.found("apple") == {"real.py"}


async def test_hostile_files_neither_stop_the_build_nor_get_in(place: Place) -> None:
    place.write("good.py", "def apple(): pass\n")
    place.write("binary.py", b"apple\0\x01\x02" * 100)
    place.write("large.py", b"apple = 1\n" * (MAX_FILE // 10 + 1))
    with open(place.files / "sparse.py", "wb") as sparse:
        sparse.truncate(1 << 30)
    place.write("latin.py", "def apple_café(): pass\n".encode("latin-1"))
    place.write("deep.py", "(" * 50_000)
    place.write("deep.js", "[" * 50_000)
    place.write("line.js", "apple(" + "x" * 500_000 + ")")
    place.write("broken.go", "func func func { { { apple")
    place.write("empty.py", "")
    (Path(os.fsdecode(os.fsencode(place.files) + b"/\xff\xfe.py"))).write_text("apple = 1\n")
    if os.getuid():
        place.write("locked.py", "apple = 1\n")
        (place.files / "locked.py").chmod(0)
    built = await place.index.build(place.files)
    assert built.left_out == 3
    found = await place.found("apple")
    assert found == {"good.py", "latin.py", "line.js", "broken.go"}
    assert all(len(hit.text) < 10_000 for hit in await place.index.search(place.files, "apple", 50))


async def test_a_file_that_changes_meanwhile_is_right_after_the_next_build(place: Place) -> None:
    for number in range(300):
        place.write(f"f{number:03}.py", f"def apple_{number}(): pass\n")
    changed = False

    def meddle(stage: str, done: int, total: int) -> None:
        nonlocal changed
        if not changed:
            changed = True
            place.write("f000.py", "def cherry(): pass\n")
            place.write("f299.py", "def cherry(): pass\n")

    await place.index.build(place.files, meddle)
    assert changed
    await place.index.build(place.files)
    assert await place.found("cherry") == {"f000.py", "f299.py"}


async def test_questions_in_any_shape_are_answered(place: Place) -> None:
    place.write("a.py", "def parseHeaderLine(raw): pass\n")
    await place.index.build(place.files)
    assert await place.found("how to parse the header") == {"a.py"}
    assert await place.found("parseHeaderLine") == {"a.py"}
    for query in ("", "   ", '"', "AND OR NOT", "a* NEAR(b)", "col:x", "'; drop table chunks", "\0", "x" * 100_000):
        await place.index.search(place.files, query)


async def test_a_workspace_that_was_never_indexed_is_told_about(place: Place) -> None:
    with pytest.raises(OpenAgentError, match="openagent index build"):
        await place.index.search(place.files, "x")
    assert (await place.index.status(place.files)).built_at is None
    with pytest.raises(OpenAgentError, match="not a directory"):
        await place.index.build(place.files / "nowhere")


async def test_a_wrecked_index_is_made_anew(place: Place, tmp_path: Path) -> None:
    place.write("a.py", "apple = 1\n")
    await place.index.build(place.files)
    (file,) = (tmp_path / "index").glob("*.db")
    file.write_bytes(b"no database at all" * 1000)
    with pytest.raises(OpenAgentError, match="openagent index build"):
        await place.found("apple")
    await place.index.build(place.files)
    assert await place.found("apple") == {"a.py"}


async def test_the_map_shows_what_is_used_within_its_bound(place: Place) -> None:
    place.write("core.py", "def central(): pass\n\n\ndef lonely(): pass\n")
    for number in range(30):
        place.write(f"user{number}.py", f"def use_{number}():\n    central()\n")
    await place.index.build(place.files)
    text = await place.index.repository_map(place.files, 12)
    assert text == "core.py:\n  def central(): pass"
    assert await place.index.repository_map(place.files, 1) == ""


async def test_the_indexing_process_stays_small(place: Place) -> None:
    """Ten times the files, hardly more memory: they are read as a stream."""
    body = "\n".join(f"def f{number}(x):\n    return g{number}(x)\n" for number in range(40))

    def peak(upto: int, since: int) -> int:
        for number in range(since, upto):
            place.write(f"d{number % 20}/m{number}.py", body + f"# {number}\n")
        code = (
            "import resource, sys\nfrom pathlib import Path\nfrom openagent.index.building import build\n"
            "build(Path(sys.argv[1]), Path(sys.argv[2]), lambda *_: None)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        file = place.files.parent / f"peak{upto}.db"
        ran = subprocess.run([sys.executable, "-c", code, str(place.files), str(file)], capture_output=True, check=True)
        return int(ran.stdout)

    small, large = peak(100, 0), peak(1000, 100)
    assert large < small + 30_000


async def test_definitions_are_found_by_letters_of_their_names_in_their_order(place: Place) -> None:
    place.write("shop.py", "class Till:\n    def open_drawer(self): pass\n\ndef drawer(): pass\ndef red_awe(): pass\n")
    await place.index.build(place.files)
    named = [each.symbol for each in await place.index.symbols_like(place.files, "drawer")]
    assert named == ["drawer", "Till.open_drawer"]
    assert [each.symbol for each in await place.index.symbols_like(place.files, "tilldraw")] == ["Till.open_drawer"]
    assert [each.symbol for each in await place.index.symbols_like(place.files, "d_a")] == ["red_awe"]
    assert await place.index.symbols_like(place.files, "100%") == []
