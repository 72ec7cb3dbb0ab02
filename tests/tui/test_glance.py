"""What is always in sight, in the real program in a real terminal."""

import shutil
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine
from .test_in_tmux import terminal

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


def test_the_model_that_a_key_alone_gives_is_in_sight(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "Me."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODEL": ""})
        with terminal(machine) as seen:
            seen.until_shown("gpt-5 · auto", gone="no model")
            seen.write("who are you?")
            seen.press("Enter")
            seen.until_shown("Me.", "gpt-5 · auto")


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
            seen.until_shown("● working", "scripted · full · ctx", "· $0", "esc to interrupt", gone="bwrap")
            (machine.workspace / "go").touch()
            seen.until_shown("All done.", "○ ready", gone="to interrupt")


def test_a_lost_connection_is_told_on_every_tab_and_so_is_its_return(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "I am back."}]) as sim:
        machine = Machine(tmp_path, sim)
        with terminal(machine) as seen:
            seen.until_shown("○ ready")
            seen.press("C-n")
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
