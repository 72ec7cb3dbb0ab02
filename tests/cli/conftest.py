from collections.abc import Generator
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from .machine import Machine

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
