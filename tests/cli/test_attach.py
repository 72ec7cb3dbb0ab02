"""A person at a terminal: `attach`, and the questions that other commands ask there."""

import json
import os
import signal

import pytest

from .machine import PATIENCE, Machine, shell
from .pseudo_terminal import CTRL_C, CTRL_D, Terminal


@pytest.fixture
def session(machine: Machine) -> str:
    return machine.turn(
        "Good morning", "--mode", "ask", script=[{"text": "Morning."}, {"text": "Two."}, {"text": "3."}]
    )


def test_a_person_sees_what_was_said_talks_and_leaves(machine: Machine, session: str) -> None:
    with Terminal(machine, "attach", session) as terminal:
        seen = terminal.until("— Done (1 step")
        assert "› Good morning" in seen
        terminal.enter("And now?\n")
        seen = terminal.until("— Done (")
        assert "Two." in seen
        assert seen.count("And now?") == 1, "the terminal's own echo and nothing more"
        terminal.enter(CTRL_D)
        assert terminal.exit_code() == 0
    assert machine.json("sessions", "show", session)["session"]["turn_count"] == 2


MARKDOWN = "# Heading\n\nSome **bold** words.\n\n- one `item`\n"


def test_markdown_is_drawn_on_a_terminal_and_raw_in_a_pipe(machine: Machine) -> None:
    script = [{"text": MARKDOWN}, {"text": MARKDOWN.replace("bold", "live")}]
    session = machine.turn("Good morning", script=script)
    with Terminal(machine, "attach", session) as terminal:
        seen = terminal.until("— Done (1 step")
        terminal.enter("And now?\n")
        seen += terminal.until("— Done (")
        terminal.enter(CTRL_D)
        assert terminal.exit_code() == 0
    with Terminal(machine, "sessions", "show", session) as terminal:
        assert terminal.exit_code() == 0
        shown = terminal.seen
    for drawn in (seen, shown):
        assert "\x1b[1mbold\x1b[0m" in drawn
        assert "\x1b[1mlive\x1b[0m" in drawn
        assert "# Heading" not in drawn
        assert "**" not in drawn
    assert MARKDOWN.strip() in machine.run("sessions", "show", session).stdout


def test_what_another_client_says_is_seen_too(machine: Machine, session: str) -> None:
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        machine.turn("From elsewhere", "--session", session)
        seen = terminal.until("— Done (")
        assert seen.index("› From elsewhere") < seen.index("Two.")


def test_a_person_allows_one_call_and_denies_the_next(machine: Machine, session: str) -> None:
    script = [{"text": "Morning."}, shell("touch allowed"), shell("touch denied"), {"text": "Finished."}]
    machine.sim.reset({"steps": script})
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        terminal.enter("Make files\n")
        asked = terminal.until("[d] Deny it.")
        assert "? The agent wants to run touch allowed" in asked
        terminal.enter("perhaps\n")
        terminal.until("Answer first:")
        terminal.enter("a\n")
        terminal.until("✓ ran touch allowed")
        terminal.until("? The agent wants to run touch denied")
        terminal.enter("d\n")
        terminal.until("denied by attach")
        terminal.until("✗ denied: run touch denied (the user said no)")
        terminal.until("Finished.")
    assert (machine.workspace / "allowed").exists()
    assert not (machine.workspace / "denied").exists()


def test_what_a_command_prints_is_seen_while_it_runs(machine: Machine, session: str) -> None:
    command = "printf 'one\\033[31m\\n'; until test -e go; do sleep 0.02; done; echo two"
    machine.sim.reset({"steps": [{"text": "Morning."}, shell(command), {"text": "Finished."}]})
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        terminal.enter("Run\n")
        assert "\x1b[31m" not in terminal.until("one\n").split("$ printf")[-1]
        (machine.workspace / "go").touch()
        terminal.until("two\n")
        terminal.until("✓ ran printf")
        terminal.until("Finished.")


def test_ctrl_c_cancels_the_turn_and_the_view_stays(machine: Machine, session: str) -> None:
    machine.sim.reset({"steps": [{"text": "Morning."}, {"text": "never", "fault": "hang"}]})
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        terminal.enter(CTRL_C)
        terminal.until("Nothing is running.")
        terminal.enter("Work\n")
        machine.sim.until(lambda: len(machine.sim.requests) == 1, PATIENCE)
        terminal.enter(CTRL_C)
        terminal.until("■ Stopped from attach")
        terminal.enter(CTRL_D)
        assert terminal.exit_code() == 0


def test_a_lost_daemon_is_started_again_and_nothing_is_missed(fresh: Machine) -> None:
    session = fresh.turn("Good morning", script=[{"text": "Morning."}, {"text": "Back again."}])
    pid = fresh.daemon_pid()
    assert pid is not None
    with Terminal(fresh, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        os.kill(pid, signal.SIGKILL)
        terminal.until("The connection was lost")
        terminal.until("Attached again")
        terminal.enter("Still there?\n")
        terminal.until("Back again.")
        terminal.until("— Done (")
        assert terminal.seen.count("Morning.") == 1


def test_a_daemon_that_was_stopped_is_waited_for_and_not_started(fresh: Machine) -> None:
    session = fresh.turn("Good morning", script=[{"text": "Morning."}, {"text": "Meanwhile."}])
    with Terminal(fresh, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        fresh.run("stop")
        terminal.until("The daemon is stopping.")
        assert fresh.daemon_pid() is None
        fresh.turn("In between", "--session", session)
        terminal.until("Attached again")
        terminal.until("Meanwhile.")
        terminal.enter(CTRL_D)
        assert terminal.exit_code() == 0


def test_events_are_followed_as_json_without_a_terminal(machine: Machine, session: str) -> None:
    with machine.start("attach", session, "--json") as process:
        assert process.stdout is not None
        snapshot = json.loads(process.stdout.readline())
        assert (snapshot["type"], len(snapshot["messages"])) == ("snapshot", 2)
        machine.turn("From elsewhere", "--session", session)
        kinds: list[str] = []
        while "turn.completed" not in kinds:
            kinds.append(json.loads(process.stdout.readline())["type"])
        assert kinds.index("session.updated") < kinds.index("turn.started") < kinds.index("text.delta")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


def test_a_deleted_session_ends_the_view(machine: Machine, session: str) -> None:
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        machine.run("sessions", "delete", session)
        terminal.until("The session was deleted.")
        assert terminal.exit_code() == 0


def test_escape_sequences_of_a_model_do_not_reach_the_terminal(machine: Machine, session: str) -> None:
    machine.sim.reset({"steps": [{"text": "Morning."}, {"text": "\x1b]0;title\x07plain\x1b[2J", "chunk_chars": 0}]})
    with Terminal(machine, "attach", session) as terminal:
        terminal.until("— Done (1 step")
        terminal.enter("Go\n")
        seen = terminal.until("— Done (")
        assert "plain" in seen
        assert "\x1b]" not in seen
        assert "\x1b[2J" not in seen


def test_an_unknown_session_is_exit_code_1(machine: Machine) -> None:
    ran = machine.run("attach", "nope")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "There is no session 'nope'." in ran.stderr


def test_run_asks_a_person_for_permission(machine: Machine) -> None:
    machine.sim.reset([shell("touch from-run"), {"text": "Made it."}])
    with Terminal(machine, "run", "--mode", "ask", "make it") as terminal:
        told = terminal.until("[d] Deny it.")
        assert "[s] Exactly `touch from-run`, for the rest of this session." in told
        terminal.until("> ")
        terminal.enter("a\n")
        terminal.until("Made it.")
        assert terminal.exit_code() == 0
    assert (machine.workspace / "from-run").exists()


@pytest.mark.parametrize(("answer", "code"), [("n\n", 130), ("y\n", 0)])
def test_deleting_asks_a_person_first(machine: Machine, session: str, answer: str, code: int) -> None:
    with Terminal(machine, "sessions", "delete", session) as terminal:
        terminal.until("Delete this for good?")
        terminal.enter(answer)
        assert terminal.exit_code() == code
    assert (machine.run("sessions", "show", session).returncode == 1) is (code == 0)
