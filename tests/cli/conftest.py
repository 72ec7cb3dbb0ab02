import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.cli.commands import main

from .machine import Machine, Ran

_HELLO = [{"text": "Hello."}]


@pytest.fixture(scope="module")
def sim() -> Generator[ThreadedSimulator, None, None]:
    with ThreadedSimulator(_HELLO) as sim:
        yield sim


@pytest.fixture(autouse=True)
def _says_hello_again(request: pytest.FixtureRequest) -> None:  # pyright: ignore[reportUnusedFunction]
    """Whichever test came before: one that left a stalled answer would let the next one wait for it."""
    if "sim" in request.fixturenames:
        request.getfixturevalue("sim").reset(_HELLO)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, sim: ThreadedSimulator) -> Generator[Machine, None, None]:
    """One daemon for all tests of a module; the first command starts it."""
    machine = Machine(tmp_path_factory.mktemp("machine"), sim)
    yield machine
    assert machine.run("stop").returncode == 0


@pytest.fixture
def fresh(tmp_path: Path, sim: ThreadedSimulator) -> Generator[Machine, None, None]:
    """Nothing runs here yet."""
    machine = Machine(tmp_path, sim)
    yield machine
    assert machine.run("stop").returncode == 0


@pytest.fixture
def run_here(
    machine: Machine, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """`machine.run` without a process: for the many tests to which one would add nothing but its start."""

    def run(*arguments: str) -> Ran:
        with monkeypatch.context() as here:
            for name in os.environ.keys() - machine.env.keys():
                here.delenv(name)
            for name, value in machine.env.items():
                here.setenv(name, value)
            here.chdir(machine.workspace)
            capfd.readouterr()
            code = main(arguments)
            out, err = capfd.readouterr()
            return Ran(code, str(out), str(err))

    return run
