"""A workspace, and a shell in it: once on the bare host, once under bubblewrap, once in a container."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.docker import DockerJail
from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, Shell
from tests.jail.engine import NoEngineError, TestEngine, running_engine

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture(scope="session")
def engine() -> Iterator[TestEngine]:
    try:
        with running_engine() as running:
            yield running
    except NoEngineError as refusal:
        pytest.skip(f"no container engine: {refusal}")


@pytest.fixture
def docker_host(engine: TestEngine, monkeypatch: pytest.MonkeyPatch) -> TestEngine:
    """The engine that jails find by themselves, and that no test leaves a container in."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
    return engine


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture(params=["host", pytest.param("bwrap", marks=needs_bwrap), "docker"])
def jail(request: pytest.FixtureRequest, tmp_path: Path) -> Jail:
    if request.param == "docker":
        request.getfixturevalue("docker_host")
    return {"host": HostJail, "bwrap": BwrapJail, "docker": DockerJail}[request.param](log_dir=tmp_path / "logs")


@pytest.fixture
async def shell(jail: Jail, workspace: Path) -> AsyncIterator[Shell]:
    shell = await jail.open("session", workspace)
    yield shell
    await shell.close()
