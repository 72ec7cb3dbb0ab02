"""What is always in sight, in the real program in a real terminal."""

import re
import shutil
import time
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import MODEL, Machine, shell
from ..cli.pseudo_terminal import CTRL_D
from ..cli.pseudo_terminal import Terminal as Person
from .test_in_tmux import terminal

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


def test_the_model_that_a_key_alone_gives_is_in_sight(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "Me."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODEL": ""})
        machine.turn("so that no newcomer is asked what to use")
        with terminal(machine) as seen:
            seen.until_shown("gpt-5 · auto", gone="no model")
            seen.write("who are you?")
            seen.press("Enter")
            seen.until_shown("Me.", "gpt-5 · auto")


def test_what_may_be_spent_is_in_sight_and_warned_of_before_it_is_used_up(tmp_path: Path) -> None:
    three_cents = {"text": "Three cents.", "usage": {"input": 10_000, "output": 0}}
    with ThreadedSimulator([three_cents] * 4) as sim:
        machine = Machine(tmp_path, sim)
        config = tmp_path / ".config" / "openagent" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[budget]\nsession_usd = 0.1\n[prices."{MODEL}"]\ninput = 3.0\noutput = 15.0\n')
        with terminal(machine) as seen:
            seen.until_shown("○ ready", "$0/0.10")
            for turn in (1, 2, 3):
                seen.write(f"turn {turn}")
                seen.press("Enter")
                seen.until_shown("○ ready", f"${turn * 0.03:.4f}/0.10")
            seen.until_shown("of the session's $0.10", "/budget raises it", gone="used up")


def test_what_runs_since_when_and_how_to_stop_it_is_in_sight_on_any_screen(tmp_path: Path) -> None:
    waits = "until [ -e go ]; do sleep 0.05; done"
    script = [
        {"tool_calls": [{"name": "shell", "arguments": {"command": waits}}], "usage": {"input": 100, "output": 1500}},
        {"text": "All done."},
    ]
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})
        with terminal(machine) as seen:
            seen.until_shown("○ ready", "scripted · full", "bwrap")
            seen.write("go on")
            seen.press("Enter")
            seen.until_shown("running until [ -e go ]", "↓ 1.5k tokens · esc to interrupt", "● working")
            seen.until(lambda: " … 1 s · " in seen.screen() or " … 2 s · " in seen.screen())
            seen.tmux("resize-window", "-x", "60", "-y", "20")
            seen.until_shown("● working", "scripted · full · ctx", "· $?", "esc to interrupt", gone="bwrap")
            (machine.workspace / "go").touch()
            seen.until_shown("All done.", "○ ready", gone="to interrupt")


def test_the_seconds_of_what_runs_are_told_apart_from_those_of_the_turn(tmp_path: Path) -> None:
    waits = "until [ -e go ]; do sleep 0.05; done"
    with ThreadedSimulator([shell("sleep 2.2"), shell(waits), {"text": "All done."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})
        with terminal(machine) as seen:
            seen.until_shown("○ ready")
            seen.write("go on")
            seen.press("Enter")
            seen.until(
                lambda: bool(re.search(r"running until .* … 1 s · turn [3-9] s · .*esc to interrupt", seen.screen()))
            )
            (machine.workspace / "go").touch()
            seen.until_shown("All done.", "○ ready")


def test_a_lost_connection_is_told_on_every_tab_and_so_is_its_return(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "I am back."}]) as sim:
        machine = Machine(tmp_path, sim)
        with terminal(machine) as seen:
            seen.until_shown("○ ready")
            seen.press("C-x", "n")
            seen.until_shown("2 new session")
            seen.write("a draft")
            machine.run("stop")
            seen.until_shown("● connection lost, trying again", "● offline", "a draft")
            seen.tmux("send-keys", "-l", "\x1b[<0;3;1M\x1b[<0;3;1m")  # a click on the first tab
            seen.until_shown("● connection lost, trying again", "● offline", gone="a draft")
            seen.tmux("send-keys", "-l", "\x1b[<0;20;1M\x1b[<0;20;1m")
            seen.until_shown("a draft")
            seen.press("Enter")  # whoever wants something starts the daemon again
            seen.until_shown("● Connected again.", "○ ready", "a draft", gone="offline")
            seen.press("Enter")
            seen.until_shown("I am back.", gone="Connected again.")


def test_nothing_is_stored_until_something_is_said_and_a_script_leaves_no_tab(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "An answer."}]) as sim:
        machine = Machine(tmp_path, sim)
        scripted = machine.turn("by a script")
        (machine.workspace / "retry.py").touch()
        with terminal(machine) as seen:
            seen.until_shown("1 new session ○", "○ ready", "scripted · auto")
            seen.write("look at @re")
            seen.until_shown("retry.py")
            seen.press("Escape")
            seen.tmux("send-keys", "-N", "11", "BSpace")
            seen.until_shown("message, @file")
            assert [each["id"] for each in machine.json("sessions", "list")["sessions"]] == [scripted]
            seen.write("/mode")
            seen.press("Enter")
            seen.until_shown("reads only")
            seen.write("plan")
            seen.press("Enter")
            seen.until_shown("scripted · plan", gone="reads only")
            assert [each["id"] for each in machine.json("sessions", "list")["sessions"]] == [scripted]
            seen.write("say it")
            seen.press("Enter")
            seen.until_shown("An answer.", "1 say it", "scripted · plan")
            assert machine.json("sessions", "list")["sessions"][0]["settings"]["mode"] == "plan"


def test_the_last_session_is_told_on_leaving_and_all_tabs_come_back_here(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "An answer."}]) as sim:
        machine = Machine(tmp_path, sim)
        with terminal(machine) as seen:
            seen.tmux("set-option", "-g", "remain-on-exit", "on")
            seen.until_shown("1 new session ○", "○ ready")
            seen.write("first")
            seen.press("Enter")
            seen.until_shown("An answer.")
            seen.press("C-x", "n")
            seen.until_shown("2 new session ○")
            seen.write("second")
            seen.press("Enter")
            seen.until_shown("An answer.", "2 second ○")
            session = machine.json("sessions", "list")["sessions"][0]["id"]
            seen.press("C-d")
            # The line before it may have left the pane: tmux adds a line when the program ends.
            seen.until_shown(f"  openagent resume {session}\nand with 1 more")
            seen.tmux("respawn-pane", "-k")  # and nothing said
            seen.until_shown("1 new session ○", "earlier first, second", "/reopen opens")
            seen.press("C-d")
            seen.until(lambda: seen.tmux("list-panes", "-F", "#{pane_dead}").strip() == "1")
            seen.tmux("respawn-pane", "-k")
            seen.until_shown("1 new session ○", "earlier first, second", "/reopen opens")
            seen.write("/reopen")
            seen.press("Enter")
            seen.until_shown("1 first ○", "2 second ○", "An answer.")
            seen.press("C-d")
            seen.until_shown("openagent -c, in this folder")
        with terminal(machine, "-c") as seen:
            seen.until_shown("1 first ○", "2 second ○", "An answer.")
        with terminal(machine, "resume", session[:10]) as seen:
            seen.until_shown("1 second ○", "An answer.", gone="first")


LOOKED_AWAY, LOOKED_BACK = "\x1b[O", "\x1b[I"


def test_who_looks_elsewhere_is_called_when_it_waits_and_when_it_ends(tmp_path: Path) -> None:
    waits = "until [ -e go ]; do sleep 0.05; done; touch made"
    # The title follows what lasts, and may skip a turn that is over at once.
    slowly = {"text": "Once more, and slowly.", "chunk_chars": 1, "chunk_ms": 50}
    with ThreadedSimulator([shell(waits), {"text": "All done."}, slowly]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "ask", "TERM_PROGRAM": "iTerm.app"})
        with Person(machine, size=(100, 30)) as seen:
            seen.until("\x1b[22;0t")
            seen.until("\x1b]0;○ openagent · workspace\x07")
            seen.until("ready")
            seen.enter("make it\r")
            seen.enter(LOOKED_AWAY)
            seen.until("\x1b]0;◆ make it · workspace\x07")
            seen.until("\x07\x1b]9;make it: waits for your answer\x07")
            seen.enter(LOOKED_BACK)
            seen.until("approve?")
            time.sleep(1.5)  # an answer counts only once the question has been in sight for a moment
            seen.enter("a")
            seen.until("\x1b]0;● make it · workspace\x07")
            seen.enter(LOOKED_AWAY)
            (machine.workspace / "go").touch()
            seen.until("\x07\x1b]9;make it: is done\x07")
            seen.enter(LOOKED_BACK)
            seen.enter("again\r")
            seen.until("\x1b]0;● make it · workspace\x07")
            seen.until("\x1b]0;○ make it · workspace\x07")
            seen.enter(CTRL_D)
            last = seen.until("\x1b[23;0t")
            assert "\x1b]9;" not in last  # nobody is called who is looking
            seen.until("go on with\n  openagent resume ")
            assert seen.exit_code() == 0
        machine.run("stop")
