"""A workspace, and a shell in it: once on the bare host, once under bubblewrap."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, Shell

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture(params=["host", pytest.param("bwrap", marks=needs_bwrap)])
def jail(request: pytest.FixtureRequest, tmp_path: Path) -> Jail:
    return {"host": HostJail, "bwrap": BwrapJail}[request.param](log_dir=tmp_path / "logs")


@pytest.fixture
async def shell(jail: Jail, workspace: Path) -> AsyncIterator[Shell]:
    shell = await jail.open("session", workspace)
    yield shell
    await shell.close()
