"""The docker jail as macOS has it: the engine is in a virtual machine, and nothing of Linux's own is on this side."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator
from tests.cli.machine import Machine, is_running, shell
from tests.jail.engine import NoEngineError, TestEngine, running_engine
from tests.platforms.test_macos import WITHOUT_LINUX


@pytest.fixture(scope="module")
def engine() -> Generator[TestEngine]:
    try:
        with running_engine() as running:
            yield running
    except NoEngineError as refusal:
        pytest.skip(f"no container engine: {refusal}")


def test_a_whole_turn_is_done_in_a_container_which_ends_with_the_daemon(engine: TestEngine, tmp_path: Path) -> None:
    script = [
        shell("mkdir made && cd made && export NUMBER=7 && echo from the container"),
        {"tool_calls": [{"name": "write_file", "arguments": {"path": "made/new.txt", "content": "a needle\n"}}]},
        {"tool_calls": [{"name": "grep", "arguments": {"pattern": "needle"}}]},
        shell("echo $NUMBER in ${PWD##*/}; cat new.txt; [ -e /run/openagent-files ] && echo far"),
        {"text": "Done."},
    ]
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim, {"PYTHONPATH": WITHOUT_LINUX, "DOCKER_HOST": f"unix://{engine.socket}"})
        try:
            machine.turn("Work.")
            messages = sim.requests[-1].json()["messages"]
            told = [message["content"] for message in messages if message["role"] == "tool"]
            assert "from the container" in told[0]
            assert "made/new.txt:1:a needle" in told[2]
            assert "7 in made\na needle\nfar" in told[3]
            assert engine.containers()
            pid = machine.daemon_pid()
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            while is_running(pid) or engine.containers():
                pass
        finally:
            machine.run("stop")
