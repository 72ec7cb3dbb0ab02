"""What a person is shown of a change before they allow it, seen through the client."""

from pathlib import Path

import pytest

from openagent.protocol import events as e

from .doing import answer, asked, call
from .house import house, new_session

pytestmark = pytest.mark.anyio

LONG = "".join(f"{number} {'x' * 1000}\n" for number in range(1100))
"""More than is told of a change."""
LARGE = "".join(f"line {number}\n" for number in range(100_000))
"""More than is compared line by line."""


async def request_for(tmp_path: Path, step: dict[str, object]) -> e.PermissionRequested:
    async with house(tmp_path, [step, {"text": "done"}]) as h, await h.client(interactive=True) as client:
        (h.workspace / "large.txt").write_text(LARGE)
        for name in "abc":
            (h.workspace / f"{name}.txt").write_text(LONG)
        attachment = await client.attach(await new_session(h, client, mode="ask"))
        await client.send(attachment.session, "go")
        request = await asked(attachment)
        await answer(client, request, decision="deny")
        return request


async def test_a_change_too_long_to_be_told_says_how_much_of_it_is_left_out(tmp_path: Path) -> None:
    ask = (await request_for(tmp_path, call("edit_file", path="a.txt", old="x", new="y", all=True))).ask
    told = ask.diff.splitlines()[3:]
    assert 0 < len(told) < 2200
    assert told[-1] == f"-{len(told) - 1} {'x' * 1000}"
    assert (ask.more_lines, ask.more_files) == (2200 - len(told), 1)


async def test_files_that_are_left_out_are_counted(tmp_path: Path) -> None:
    patch = "\n".join(["*** Begin Patch", *(f"*** Delete File: {name}.txt" for name in "abc"), "*** End Patch"])
    ask = (await request_for(tmp_path, call("apply_patch", patch=patch))).ask
    assert ask.more_files == 3
    assert ask.more_lines > 2 * 1100


async def test_a_line_of_a_large_file_is_shown_as_it_would_change(tmp_path: Path) -> None:
    ask = (await request_for(tmp_path, call("edit_file", path="large.txt", old="line 700\n", new="seven\n"))).ask
    assert ask.diff.splitlines() == [
        "--- large.txt",
        "+++ large.txt",
        "@@ -698,7 +698,7 @@",
        *(f" line {number}" for number in (697, 698, 699)),
        "-line 700",
        "+seven",
        *(f" line {number}" for number in (701, 702, 703)),
    ]
    assert ask.more_lines == 0
