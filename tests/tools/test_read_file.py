"""Reading."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest

from openagent.tools.read_file import MAX_PAGE_BYTES, READ_AT_ONCE, read_file

from .bench import Bench

pytestmark = pytest.mark.anyio

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_lines_come_with_their_numbers(bench: Bench) -> None:
    bench.write("a.txt", "one\r\ntwo\n\nfour")
    assert await bench.text(read_file, path="a.txt") == "1\tone\n2\ttwo\n3\t\n4\tfour"


@pytest.mark.parametrize("padding", [0, READ_AT_ONCE])
@pytest.mark.parametrize(
    ("start", "lines", "expected"),
    [
        (3, 2, "3\tc\n4\td\n[lines 3 to 4 of {total}]"),
        (-2, 9, "{before}\ty\n{total}\tz\n[lines {before} to {total} of {total}]"),
        (-999999, 1, "1\ta\n[lines 1 to 1 of {total}]"),
        (0, 1, "1\ta\n[lines 1 to 1 of {total}]"),
        (999999, 1, "a.txt has {total} lines."),
    ],
)
async def test_a_range_is_read_from_either_end(
    bench: Bench, start: int, lines: int, expected: str, padding: int
) -> None:
    content = "a\nb\nc\nd\n" + "filler\n" * (padding // 7 + 1) + "y\nz"
    bench.write("a.txt", content)
    total = content.count("\n") + 1
    text = await bench.text(read_file, path="a.txt", start=start, lines=lines)
    assert text == expected.format(total=total, before=total - 1)


async def test_a_page_is_bounded_and_says_where_it_ended(bench: Bench) -> None:
    bench.write("long.txt", "x" * 100_000 + "\n" + "y" * 90 + "\n" * 3000)
    text = await bench.text(read_file, path="long.txt")
    first, second, *_ = text.split("\n")
    assert (len(first), first[-1], len(second)) == (2 + 2000 + 1, "…", 92)
    assert text.endswith("[lines 1 to 2000 of 3001]")
    bench.write("wide.txt", ("z" * 1000 + "\n") * 500)
    wide = await bench.text(read_file, path="wide.txt")
    assert len(wide) < MAX_PAGE_BYTES + 3000
    assert wide.endswith("[lines 1 to 50 of 500]")


async def test_bytes_that_are_no_text_are_replaced_and_binary_files_are_named(bench: Bench) -> None:
    bench.write("latin.txt", b"caf\xe9\n")
    assert await bench.text(read_file, path="latin.txt") == "1\tcaf�"
    bench.write("data.bin", b"\x7fELF\0\0")
    assert await bench.refusal(read_file, path="data.bin") == "data.bin is a binary file of 6 bytes."
    bench.write("empty.txt", "")
    assert await bench.text(read_file, path="empty.txt") == "empty.txt is empty."


async def test_an_image_is_shown_whatever_its_name_and_a_huge_one_is_refused(bench: Bench) -> None:
    bench.write("pixel.dat", PIXEL)
    (image,) = (await bench.run(read_file, path="pixel.dat")).images
    assert (image.media_type, base64.b64decode(image.data)) == ("image/png", PIXEL)
    bench.write("huge.png", PIXEL + bytes(5 * 1024 * 1024))
    assert "at most 5 MB" in await bench.refusal(read_file, path="huge.png")


async def test_what_is_missing_or_a_directory_is_said_so(bench: Bench) -> None:
    (bench.workspace / "folder").mkdir()
    assert await bench.refusal(read_file, path="folder") == "folder is a directory. Use list_dir."
    assert await bench.refusal(read_file, path="none.txt") == "none.txt does not exist."
    assert await bench.refusal(read_file, path="output:../../x") == (
        "There is no output named output:../../x. Run the command again."
    )


READ_IN_A_FRESH_PROCESS = """
import asyncio, resource, sys
from pathlib import Path
from tests.tools.bench import Bench
from openagent.tools.read_file import read_file

async def main():
    bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]))
    await bench.text(read_file, path="small.txt")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for start in (1, 1_000_000, -3):
        text = await bench.text(read_file, path="big.txt", start=start, lines=2)
        print(text.splitlines()[0][-20:], file=sys.stderr)
    await bench.text(read_file, path="one_line.txt")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main())
"""


def test_a_file_of_100_mb_is_read_in_flat_memory(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "small.txt").write_text("small\n")
    block = b"".join(b"%08d%s\n" % (number, b"." * 71) for number in range(10_000))
    with (workspace / "big.txt").open("wb") as file:
        for _ in range(130):
            file.write(block)
    with (workspace / "one_line.txt").open("wb") as file:
        for _ in range(100):
            file.write(b"x" * (1 << 20))
    ran = subprocess.run(
        [sys.executable, "-c", READ_IN_A_FRESH_PROCESS, workspace, tmp_path / "scratch"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    grown_kib = int(ran.stdout)
    assert grown_kib < 12 * 1024
    assert len(ran.stderr.splitlines()) == 3
