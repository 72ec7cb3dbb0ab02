from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .bench import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    bench = Bench(workspace, tmp_path / "private" / "scratch")
    yield bench
    await bench.close()
