"""Two real daemons on one store, and one of them is killed."""

import json
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from .machine import Machine, shell


@pytest.fixture
def pair(tmp_path: Path, sim: ThreadedSimulator) -> Generator[tuple[Machine, Machine], None, None]:
    store = {"OPENAGENT_STORE_URL": f"sqlite:///{tmp_path}/shared.db"}
    machines = Machine(tmp_path / "one", sim, store), Machine(tmp_path / "two", sim, store)
    yield machines
    for machine in machines:
        assert machine.run("stop").returncode == 0


def test_the_turn_of_a_killed_daemon_is_recovered_by_its_next_life_and_left_alone_by_others(
    pair: tuple[Machine, Machine],
) -> None:
    one, two = pair
    one.sim.reset({"steps": [shell("touch begun; sleep 100"), {"text": "never"}]})
    with one.start("run", "--mode", "full", "--output", "json", "go") as running:
        while not (one.workspace / "begun").exists():
            assert running.poll() is None
        session = one.json("sessions", "list")["sessions"][0]["id"]
        refused = two.run("sessions", "show", session)
        assert refused.returncode == 1
        assert f"pid {one.daemon_pid()} on " in refused.stderr
        assert str(one.home) in refused.stderr
        assert two.json("sessions", "list")["sessions"][0]["status"] == "executing_tool"
        pid = one.daemon_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        running.communicate()
    assert two.run("sessions", "show", session).returncode == 1
    shown = one.json("sessions", "show", session)
    assert "interrupted" in json.dumps(shown)
    assert [info["status"] for info in two.json("sessions", "list")["sessions"]] == ["interrupted"]
