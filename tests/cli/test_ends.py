"""How things ended, as every terminal tells it: in the right tense, once, and as it was."""

import time
from pathlib import Path
from typing import Any

from .machine import Machine, shell
from .pseudo_terminal import CTRL_C, Terminal

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-one = 1\n+one = 2\n*** Add File: b.py\n+two = 2\n*** End Patch\n"
PATCHED: dict[str, Any] = {"tool_calls": [{"name": "apply_patch", "arguments": {"patch": PATCH}}]}


def test_a_patch_is_named_by_its_files_in_a_history_too(machine: Machine) -> None:
    Path(machine.workspace / "a.py").write_text("one = 1\n")
    session = machine.turn("patch it", script=[PATCHED, {"text": "Done."}])
    shown = machine.run("sessions", "show", session).stdout
    assert "✓ patched a.py, b.py +2 −1" in shown
    assert "Begin Patch" not in shown.split("✓ patched")[0]


def test_a_denied_patch_says_denied_and_names_its_files(machine: Machine) -> None:
    Path(machine.workspace / "a.py").write_text("one = 1\n")
    session = machine.turn("patch it", "--mode", "ask", script=[PATCHED, {"text": "I may not."}])
    shown = machine.run("sessions", "show", session).stdout
    assert "✗ denied: patch a.py, b.py (" in shown
    assert "patched" not in shown


def test_a_command_whose_host_was_denied_is_no_plain_success(machine: Machine) -> None:
    fetch = shell("curl -s --max-time 25 http://far.test/ || true")
    session = machine.turn("fetch it", script=[fetch, {"text": "I could not."}])
    assert "■ ran curl -s --max-time 25 http://far.test/ || true · denied: far.test:80 · " in (
        machine.run("sessions", "show", session).stdout
    )


def test_what_was_cancelled_says_so(machine: Machine) -> None:
    machine.sim.reset([shell("touch begun; sleep 60"), {"text": "never"}])
    with Terminal(machine, "run", "--mode", "full", "wait") as terminal:
        deadline = time.monotonic() + 30
        while not (machine.workspace / "begun").exists():
            assert time.monotonic() < deadline
        terminal.enter(CTRL_C)
        terminal.until("■ stopped: run touch begun; sleep 60")
    assert "✓ ran" not in terminal.seen


def test_waiting_for_the_next_try_is_one_line_that_changes(machine: Machine) -> None:
    machine.sim.reset([{"text": "There.", "fault": {"name": "overloaded", "times": 2}}])
    with Terminal(machine, "run", "--mode", "full", "hello") as terminal:
        assert "! Retrying in " in terminal.until(" (2 of ")
        again = terminal.until(" (3 of ")
        assert "\x1b[1A\x1b[2K" in again  # in place of the line before
        assert "\x1b[1A\x1b[2K" in terminal.until("There.")
        assert terminal.exit_code() == 0


def test_a_turn_that_failed_is_continued_from_the_command_line(machine: Machine) -> None:
    machine.sim.reset([shell("echo once >> log"), {"text": "There.", "fault": {"name": "401", "times": 1}}])
    failed = machine.run("run", "--mode", "full", "hello")
    assert "Retry: `openagent retry " in failed.stderr
    again = machine.run("retry")
    assert (again.returncode, again.stdout) == (0, "There.\n")
    assert (machine.workspace / "log").read_text() == "once\n"
    refused = machine.run("retry", "--json")
    assert refused.returncode != 0
    assert "nothing to retry" in refused.stdout


def test_a_run_that_waits_for_its_model_is_hurried_from_elsewhere(machine: Machine) -> None:
    machine.sim.reset([{"text": "There.", "fault": {"name": "503", "times": 1, "retry_after": 400}}])
    with Terminal(machine, "run", "--mode", "full", "hello") as terminal:
        terminal.until("Retrying in 400 s (2 of ")
        terminal.until("Retrying in 399 s (2 of ")
        assert machine.run("retry").stdout == "There.\n"
        terminal.until("There.")
        assert terminal.exit_code() == 0


def test_an_error_is_told_once(machine: Machine) -> None:
    refused = {"text": "", "fault": "401"}
    machine.sim.reset([refused])
    ran = machine.run("run", "hello")
    assert (ran.stdout + ran.stderr).count("refused the API key") == 1
    session = machine.turn("hello", script=[{"text": "Hello."}, refused])
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (")
        terminal.enter("again\n")
        terminal.until("refused the API key")
        terminal.until("✗ Failed")
        assert terminal.seen.count("refused the API key") == 1
