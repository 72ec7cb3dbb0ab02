"""The real program in a real terminal, driven by keys."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine
from .snapshots import compare, fits

PATIENCE = 60.0
pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Terminal:
    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *arguments: str) -> str:
        ran = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", os.devnull, *arguments], capture_output=True, text=True, check=True
        )
        return ran.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def copied(self) -> str:
        """What the program gave to the terminal's clipboard, over OSC 52."""
        try:
            return self.tmux("show-buffer")
        except subprocess.CalledProcessError:
            return ""

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def write(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def until(self, wanted: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.05)

    def same(self, name: str) -> None:
        """The screen comes to look as the kept one; what a terminal shows is complete only a moment after its words."""
        if os.environ.get("UPDATE_SNAPSHOTS"):
            time.sleep(1)
        else:
            with suppress(AssertionError):
                self.until(lambda: fits(name, self.screen()))
        compare(name, self.screen())

    def until_shown(self, *texts: str, gone: str = "") -> None:
        deadline = time.monotonic() + PATIENCE
        while not _fits(screen := self.screen(), texts, gone):
            assert time.monotonic() < deadline, f"{texts} not in, or {gone!r} in:\n{screen}"
            time.sleep(0.05)


def _fits(screen: str, texts: tuple[str, ...], gone: str) -> bool:
    return all(text in screen for text in texts) and not (gone and gone in screen)


@contextmanager
def terminal(machine: Machine, *arguments: str) -> Generator[Terminal, None, None]:
    seen = Terminal(machine.root / "tmux.sock")
    settings = [f"{name}={value}" for name, value in machine.env.items()]
    settings += ["COLUMNS=80", "LINES=24"]  # as some parents leave them behind: the terminal's own word counts
    command = ["env", *settings, sys.executable, "-m", "openagent", *arguments]
    seen.tmux("new-session", "-d", "-x", "100", "-y", "30", "-c", str(machine.workspace), *command)
    try:
        yield seen
    finally:
        subprocess.run(["tmux", "-S", str(machine.root / "tmux.sock"), "kill-server"], check=False, capture_output=True)
        machine.run("stop")


ANSWER = "All **done**:\n\n- one file\n- no regrets\n\n```python\nprint('made')\n```"


def test_plain_openagent_opens_asks_and_answers_in_a_terminal(tmp_path: Path) -> None:
    """One long visit, because starting is what takes time: keys, sizes and a daemon that dies, each screen as kept."""
    script = [
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch made"}}]},
        {"text": ANSWER},
        {"text": "And back again."},
    ]
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "ask"})
        with terminal(machine) as seen:
            seen.until_shown("message, @file, /command, !shell", "ask", "Say what to do.")
            seen.write("make it")
            seen.press("Enter")
            seen.until_shown("approve?", "touch made", "waiting")
            seen.same("tmux-permission")
            time.sleep(0.4)
            seen.press("a")
            seen.until_shown("✓ ran touch made", "no regrets", "print", gone="thinking")
            assert (machine.workspace / "made").exists()
            seen.same("tmux-conversation")
            seen.tmux("set-option", "-s", "set-clipboard", "on")
            seen.press("C-x", "y")
            seen.until(lambda: seen.copied() == ANSWER)
            seen.until_shown("The newest answer was copied.")
            seen.until_shown("message, @file", gone="The newest answer was copied.")
            seen.press("?")
            seen.until_shown("answer a permission")
            seen.same("tmux-help")
            seen.tmux("resize-window", "-x", "60", "-y", "20")
            seen.same("tmux-help-small")
            seen.press("Escape")
            seen.until_shown("message, @file", gone="answer a permission")
            seen.same("tmux-small")
            seen.tmux("resize-window", "-x", "20", "-y", "5")
            seen.until_shown("OpenAgent needs")
            seen.same("tmux-tiny")
            seen.tmux("resize-window", "-x", "100", "-y", "30")
            seen.until_shown("no regrets", "make it")
            seen.same("tmux-conversation")
            pid = machine.daemon_pid()
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            seen.until(lambda: machine.daemon_pid() not in (None, pid))
            seen.write("still there?")
            seen.press("Enter")
            seen.until_shown("no regrets", "And back again.", gone="connection lost")
            seen.tmux("set-option", "-g", "remain-on-exit", "on")
            seen.press("C-d")
            seen.until(lambda: seen.tmux("display-message", "-p", "#{pane_dead}").strip() == "1")


def test_no_escape_sequence_of_a_model_or_a_tool_is_obeyed_by_the_terminal(tmp_path: Path) -> None:
    nasty = "\x1b]2;taken over\x07\x1b[2J\x1b]52;c;aGk=\x07be\x1b[31mfore\x9b5n"
    script = [
        {"tool_calls": [{"name": "shell", "arguments": {"command": "printf '\\033]2;taken over\\007\\033[3Jx'"}}]},
        {"text": nasty},
    ]
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "full"})
        with terminal(machine) as seen:
            seen.until_shown("Say what to do.")
            seen.tmux("pipe-pane", "-O", f"cat > {tmp_path}/raw")
            seen.write("go")
            seen.press("Enter")
            seen.until_shown("before")
            seen.press("C-o")
            time.sleep(0.5)
            assert seen.tmux("display-message", "-p", "#{pane_title}").strip() != "taken over"
            raw = (tmp_path / "raw").read_bytes()
            assert b"taken over\x07" not in raw
            assert b"\x1b]52" not in raw
            assert b"\x1b]2;" not in raw
            assert b"\x1b[3J" not in raw
