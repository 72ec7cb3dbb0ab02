"""What a person is asked in a plain terminal: by `run` and by `attach` the same, with the same keys for answers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from .machine import PATIENCE, Machine, shell
from .pseudo_terminal import Terminal

OLD = "".join(f"value_{number} = {number}\n" for number in range(1, 121))
NEW = OLD.replace("value_40 = 40\n", "value_40 = 41\n") + "".join(f"added_{number} = 0\n" for number in range(40))
WRITE: dict[str, Any] = {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.py", "content": NEW}}]}


@pytest.fixture
def asked(machine: Machine) -> Iterator[Machine]:
    (machine.workspace / "a.py").write_text(OLD)
    machine.sim.reset([WRITE, {"text": "That was it."}])
    machine.extra = {"OPENAGENT_COLORS": "truecolor"}
    yield machine
    machine.extra = {}


def _session(machine: Machine) -> str:
    script = [{"text": "Morning."}, WRITE, {"text": "That was it."}, {"text": "And so."}]
    return machine.turn("Good morning", "--mode", "ask", script=script)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def told_to_the_model(machine: Machine) -> str:
    return str(machine.sim.requests[-1].body)


def test_run_shows_the_change_and_one_key_allows_it(asked: Machine) -> None:
    with Terminal(asked, "run", "--mode", "ask", "change it") as terminal:
        told = terminal.until("[v] All of it.")
        assert "write a.py" in plain(told)
        assert "+41 −1" in plain(told)
        assert re.search(r"^ 40 +- value_40 = 40 *$", plain(told), re.MULTILINE)
        assert re.search(r"^ +40 \+ value_40 = 41 *$", plain(told), re.MULTILINE)
        assert "\x1b[38;2;213;216;226;38;2;165;180;252;48;2;29;86;56m41" in told  # the changed word, lit
        assert "more lines: v shows all" in told
        assert "added_39" not in told
        terminal.until("> ")
        terminal.enter("v")
        assert "160 + added_39 = 0" in plain(terminal.until("added_39"))[-20:] + " = 0"
        terminal.enter("a")
        terminal.until("✓ wrote a.py +41 −1")
        assert terminal.exit_code() == 0
    assert (asked.workspace / "a.py").read_text() == NEW


def test_a_denial_with_a_reason_reaches_the_model_and_reads_as_denied(asked: Machine) -> None:
    with Terminal(asked, "run", "--mode", "ask", "change it") as terminal:
        terminal.until("[v] All of it.")
        terminal.until("> ")
        terminal.enter("D")
        terminal.until("deny, because")
        terminal.enter("Not in this file.\n")
        terminal.until("✗ denied: write a.py (Not in this file)")
        assert terminal.exit_code() == 0
    assert (asked.workspace / "a.py").read_text() == OLD
    assert "Not in this file." in told_to_the_model(asked)


def test_attach_shows_the_same_and_takes_the_same_keys(asked: Machine) -> None:
    session = _session(asked)
    with Terminal(asked, "attach", session) as terminal:
        terminal.until("— Done (")
        terminal.enter("Change it\n")
        told = plain(terminal.until("[v] All of it."))
        assert re.search(r"^ +40 \+ value_40 = 41 *$", told, re.MULTILINE)
        terminal.enter("?")
        terminal.until("The rule that asks: builtin:writes-workspace.")
        terminal.enter("v")
        terminal.until("added_39")
        terminal.enter("d")
        terminal.until("denied by attach")
        terminal.until("✗ denied: write a.py (the user said no)")
        terminal.until("That was it.")
        terminal.until("— Done (")
        terminal.enter("A line again\n")
        terminal.until("— Done (")
    assert (asked.workspace / "a.py").read_text() == OLD


def test_what_was_being_typed_when_the_question_came_is_no_answer_and_not_lost(asked: Machine) -> None:
    session = _session(asked)
    with Terminal(asked, "attach", session) as terminal:
        terminal.until("— Done (")
        terminal.enter("Change it\nadd ")
        terminal.until("[v] All of it.")
        terminal.enter("d")
        terminal.until("— Done (")
        terminal.enter("more\n")
        terminal.until("And so.")
    assert "add more" in told_to_the_model(asked)


def test_a_pipe_gets_a_plain_unified_diff(asked: Machine) -> None:
    session = _session(asked)
    with Terminal(asked, "attach", session) as person, asked.start("attach", session) as process:
        person.until("— Done (")
        person.enter("Change it\n")
        person.until("[v] All of it.")
        assert process.stdout is not None
        seen = b""
        while b"Deny it." not in seen:
            seen += process.stdout.readline()
        process.kill()
    assert b"\n--- a.py\n+++ a.py\n@@ -37,7 +37,7 @@\n value_37 = 37\n" in seen
    assert b"\n-value_40 = 40\n+value_40 = 41\n" in seen
    assert b"\x1b[" not in seen


QUESTION: dict[str, Any] = {
    "tool_calls": [{"name": "ask_user", "arguments": {"question": "Red or blue?", "choices": ["red", "blue"]}}]
}
DECIDES = "No one is attached. Decide, and say what you assumed."


def _watching(machine: Machine, session: str) -> Terminal:
    """Somebody who could answer, and does not."""
    return Terminal(machine, "attach", session)


def test_a_run_without_a_terminal_answers_a_question_at_once_also_beside_a_person(machine: Machine) -> None:
    session = machine.turn("hi", script=[{"text": "Hello."}, QUESTION, {"text": "Blue, I assumed."}])
    with _watching(machine, session) as person:
        person.until("— Done (")
        ran = machine.run("run", "-r", session, "choose")
        assert (ran.returncode, ran.stdout) == (0, "Blue, I assumed.\n")
        person.until(f"answered by run: {DECIDES}")
    assert "? Red or blue?" in ran.stderr
    assert DECIDES in ran.stderr
    assert DECIDES in told_to_the_model(machine)


def test_a_run_without_a_terminal_is_refused_at_once_also_beside_a_person(machine: Machine) -> None:
    script = [{"text": "Hello."}, shell("touch made"), {"text": "I could not."}]
    session = machine.turn("hi", "--mode", "ask", script=script)
    with _watching(machine, session) as person:
        person.until("— Done (")
        ran = machine.run("run", "-r", session, "--json", "make it")
        assert ran.returncode == 0
        assert [each["summary"] for each in json.loads(ran.stdout)["refused"]] == ["touch made"]


def test_a_run_that_is_to_wait_is_answered_by_another_client(machine: Machine) -> None:
    script = [{"text": "Hello."}, QUESTION, shell("touch allowed"), {"text": "Done."}]
    session = machine.turn("hi", "--mode", "ask", script=script)
    with (
        _watching(machine, session) as person,
        machine.start("run", "-r", session, "--if-asked", "wait", "go") as run,
    ):
        person.until("2. blue")
        person.enter("2\n")
        person.until("[v] All of it.")
        person.enter("a")
        out, err = run.communicate(timeout=PATIENCE)
    assert (run.returncode, out) == (0, b"Done.\n")
    assert b"waiting for an answer in another client: Red or blue?" in err
    assert re.search(rb"waiting for approval in another client: run touch allowed \(at most \d+ min", err)
    assert (machine.workspace / "allowed").exists()


def test_a_run_that_is_to_stop_stops_at_a_question(machine: Machine) -> None:
    machine.sim.reset([QUESTION, {"text": "x"}])
    ran = machine.run("run", "--if-asked", "stop", "choose")
    assert ran.returncode == 3
    assert "the agent asked: Red or blue?" in ran.stderr


@pytest.mark.parametrize(("typed", "heard"), [("2\n", "blue"), ("green\n", "green"), ("\n", DECIDES)])
def test_a_run_on_a_terminal_asks_what_the_agent_wants_to_know(machine: Machine, typed: str, heard: str) -> None:
    machine.sim.reset([QUESTION, {"text": "So be it."}])
    with Terminal(machine, "run", "choose") as terminal:
        terminal.until("Your answer")
        terminal.enter(typed)
        terminal.until("So be it.")
        assert terminal.exit_code() == 0
    assert heard in told_to_the_model(machine)
