"""The Python that pages show can be copied: its imports are there, and what it defines can be made."""

import subprocess
import sys
from pathlib import Path

import pytest

from .pages import PAGES, ROOT, blocks

BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in [*PAGES, *sorted((ROOT / "examples").rglob("*.md"))]
    for number, block in enumerate(blocks(page.read_text(), "python"), 1)
    if "import " in block and "openagent" in block
]


def test_there_are_such_blocks() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_with_imports_runs(block: str, tmp_path: Path) -> None:
    """Whatever it does in the end (`asyncio.run`) is left to tests/handbook/test_first_hour.py."""
    body = block.partition("\nasyncio.run(")[0].partition("\ntry:\n")[0]
    ran = subprocess.run([sys.executable, "-W", "error", "-c", body], cwd=tmp_path, capture_output=True, text=True)  # noqa: PLW1510
    assert (ran.returncode, ran.stderr) == (0, "")
