import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.copies import WorkspaceCopies


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def checkpoints(home: Path) -> GitCheckpoints:
    return GitCheckpoints(home)


@pytest.fixture
def copies(home: Path, checkpoints: GitCheckpoints) -> WorkspaceCopies:
    return WorkspaceCopies(home, checkpoints)


@pytest.fixture
def memory(tmp_path: Path) -> Generator[Path]:
    """A folder in memory where there is one: thousands of small files are written there."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=shared))
    yield folder
    for inside, _, _ in os.walk(folder):
        os.chmod(inside, 0o700)
    shutil.rmtree(folder)
