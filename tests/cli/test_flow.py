"""`openagent flow` follows the run it started, and no other."""

import json
import signal

from .machine import PATIENCE, Machine

GATED = """\
[[step]]
name = "look"
template = "researcher"
task = "look around"

[[step]]
name = "gate"
until = "test -f gate.txt"

[[step]]
name = "report"
template = "researcher"
task = "report on {look}"
"""
LOOKED = {"match": "look around", "steps": [{"text": "LOOKED"}], "loop": True}
REPORTED = {"match": "report on", "steps": [{"text": "REPORTED"}], "loop": True}


def test_a_failed_flow_that_is_resumed_is_followed_to_its_new_end(machine: Machine) -> None:
    machine.sim.reset({"conversations": [LOOKED, REPORTED]})
    (machine.workspace / "gated.toml").write_text(GATED)
    first = machine.run("flow", "run", "gated.toml", "--mode", "full", "--json")
    assert first.returncode == 1
    assert "does not pass" in first.stderr
    session = json.loads(first.stdout)["session"]

    again = machine.run("flow", "resume", session)
    assert again.returncode == 1
    assert "✓ look  done before" in again.stdout
    assert again.stdout.count("✗ gate  ") == 1

    (machine.workspace / "gate.txt").touch()
    last = machine.run("flow", "resume", session)
    assert last.returncode == 0, last.stdout
    assert "✗" not in last.stdout
    assert "✓ report  REPORTED" in last.stdout
    assert "gated is done" in last.stdout


def test_a_cancelled_flow_that_is_resumed_is_followed_to_its_new_end(machine: Machine) -> None:
    hangs = {"match": "look around", "steps": [{"text": "never", "fault": "hang"}]}
    machine.sim.reset({"conversations": [hangs, REPORTED]})
    (machine.workspace / "gate.txt").touch()
    (machine.workspace / "gated.toml").write_text(GATED)
    with machine.start("flow", "run", "gated.toml", "--mode", "full", "--json") as process:
        machine.sim.until(lambda: len(machine.sim.requests) == 1, PATIENCE)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    told = json.loads(out)
    assert told["state"] == "cancelled"

    machine.sim.reset({"conversations": [LOOKED, REPORTED]})
    last = machine.run("flow", "resume", told["session"], "--json")
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout)["state"] == "done"
